// SPDX-License-Identifier: BSD-3-Clause
// Runs linear layers of each type on each number of rows up to two tiles plus one, with widths around those of tiles,
// and compares them with sums in double precision. Together they use all GEMM kernels that can be chosen.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "layers.h"
#include "processors.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Twice the rows of the tallest tile, plus one.
constexpr size_t kMostRows = 49;

constexpr LayerTypes kTypes[] = {
    {"f32", xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp32},
    {"f16", xnn_datatype_fp16, xnn_datatype_fp16, xnn_datatype_fp16},
    {"qs8", xnn_datatype_qint8, xnn_datatype_qint8, xnn_datatype_qint8},
    {"qs8_qc8w", xnn_datatype_qint8, xnn_datatype_qcint8, xnn_datatype_qint8},
    {"qu8", xnn_datatype_quint8, xnn_datatype_quint8, xnn_datatype_quint8},
    {"qd8_f32_qc8w", xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp32},
    {"qd8_f32_qc4w", xnn_datatype_qdint8, xnn_datatype_qcint4, xnn_datatype_fp32},
    {"qd8_f32_qb4w", xnn_datatype_qdint8, xnn_datatype_qbint4, xnn_datatype_fp32},
    {"qd8_f16_qc8w", xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp16},
    {"qd8_f16_qc4w", xnn_datatype_qdint8, xnn_datatype_qcint4, xnn_datatype_fp16},
    {"qd8_f16_qb4w", xnn_datatype_qdint8, xnn_datatype_qbint4, xnn_datatype_fp16},
};

class XnnpackLinearSweep : public ::testing::TestWithParam<LayerTypes> {};

/// @param transposed The weights are [depth][channels].
/// @param special Whether each row has one of kSpecialNumbers, and only all rows are run.
void sweep(const LayerTypes& types, size_t channels, size_t depth, size_t threads, bool transposed = false,
           bool special = false) {
  if (::testing::Test::HasFailure()) {
    return;
  }
  const Filter filter = make_filter(types, channels, depth, transposed);
  Elements input = make_input(types, kMostRows, depth);
  for (size_t row = 0; special && row < kMostRows; ++row) {
    set_float(types, input, row * depth + row / std::size(kSpecialNumbers) % depth,
              kSpecialNumbers[row % std::size(kSpecialNumbers)]);
  }
  std::vector<double> sums;
  for (size_t i = 0; i < kMostRows * channels; ++i) {
    const size_t row = i / channels, channel = i % channels;
    double sum = filter.bias[channel];
    for (size_t k = 0; k < depth; ++k) {
      sum += input.reals[row * depth + k] * filter.elements.reals[channel * depth + k];
    }
    sums.push_back(sum);
  }
  const Layer layer(
      types, {kMostRows, depth}, 1, {kMostRows, channels}, transposed ? Dims{depth, channels} : Dims{channels, depth},
      transposed ? 1 : 0, filter,
      [transposed](const LayerValues& of) {
        return xnn_define_fully_connected(of.graph, -kInfinity, kInfinity, of.in, of.filter, of.bias, of.out,
                                          transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0);
      },
      threads);
  if (!layer.is_supported()) {
    return;
  }
  const size_t row_bytes = (input.bytes.size() - XNN_EXTRA_BYTES) / kMostRows;
  for (size_t rows = special ? kMostRows : 1; rows <= kMostRows && !::testing::Test::HasFailure(); ++rows) {
    // The padding after the last row is NaN.
    std::vector<uint8_t> in(input.bytes.begin(), input.bytes.begin() + static_cast<ptrdiff_t>(rows * row_bytes));
    in.resize(in.size() + XNN_EXTRA_BYTES, 0xFF);
    layer.check({rows, depth}, in.data(), {rows, channels}, sums.data(),
                std::to_string(rows) + " x " + std::to_string(depth) + " by " + std::to_string(channels) + ", " +
                    std::to_string(threads) + " threads" + (transposed ? ", transposed weights" : ""));
  }
}

TEST_P(XnnpackLinearSweep, EachNumberOfRows) {
  expect_on_each_processor([types = GetParam()] {
    const bool all = sweeps_all();
    std::vector<size_t> depths = {1, 3, 8, 21, 64}, widths = {1, 5, 16, 33};
    if (all) {
      depths = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 100};
      widths = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 129};
    }
    if (types.filter == xnn_datatype_qbint4) {
      depths = all ? std::vector<size_t>{32, 64, 96, 256} : std::vector<size_t>{32, 96};
    }
    for (const size_t depth : depths) {
      for (const size_t width : widths) {
        sweep(types, width, depth, 1);
        if (types.filter != xnn_datatype_qcint4 && types.filter != xnn_datatype_qbint4) {
          sweep(types, width, depth, 1, true);
        }
      }
    }
    for (const size_t threads : {2, 3, 8}) {
      sweep(types, 67, 96, threads);
    }
  });
}

/// Runs each number of outputs around those at which another kernel is chosen, and each remainder of the depth, with
/// NaN and infinity at each position of a row, and with weights of which some are 0 (XNN-14).
TEST(XnnpackLinearSpecialNumbers, AtEachPlace) {
  expect_on_each_processor([] {
    for (size_t depth = 1; depth <= 9; ++depth) {
      for (size_t width = 1; width <= 40; width += sweeps_all() || width < 4 ? 1 : 4) {
        sweep(kTypes[0], width, depth, 1, false, true);
        sweep(kTypes[1], width, depth, 1, false, true);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Types, XnnpackLinearSweep, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
