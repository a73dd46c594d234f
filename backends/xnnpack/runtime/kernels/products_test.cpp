// SPDX-License-Identifier: BSD-3-Clause
// GEMM kernels on small integers, whose sums are exact in any order.
#include "kernels/products.h"

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Integers from -3 to 3, followed by padding that kernels may read.
std::vector<float> integers(size_t count, size_t seed) {
  std::vector<float> values(count + XNN_EXTRA_BYTES / sizeof(float), 0.0f);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 7 + seed * 5 + i / 3) % 7) - 3.0f;
  }
  return values;
}

/// The parameter is whether kernels prefetch weights, which must not change results.
class XnnpackProducts : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
    expect_far_weights(GetParam());
  }
  void TearDown() override { expect_far_weights(false); }
};

INSTANTIATE_TEST_SUITE_P(FarWeights, XnnpackProducts, ::testing::Bool());

TEST_P(XnnpackProducts, EachNumberOfRowsAndColumns) {
  constexpr size_t kDepth = 37;
  for (const size_t columns : {1, 3, 8, 15, 16, 17, 30, 49, 64, 67, 113}) {
    const auto weights = integers(columns * kDepth, 1);
    const auto bias = integers(columns, 2);
    xnn_operator_t op = nullptr;
    ASSERT_EQ(xnn_create_fully_connected_nc_f32(kDepth, columns, kDepth, columns, weights.data(), bias.data(),
                                                -kInfinity, 50.0f, 0, nullptr, nullptr, &op),
              xnn_status_success);
    for (size_t rows = 1; rows <= 40; ++rows) {
      const auto input = integers(rows * kDepth, 3);
      std::vector<float> output(rows * columns + 1, -1e6f);
      ASSERT_EQ(xnn_reshape_fully_connected_nc_f32(op, rows, nullptr), xnn_status_success);
      ASSERT_EQ(xnn_setup_fully_connected_nc_f32(op, input.data(), output.data()), xnn_status_success);
      ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
      for (size_t i = 0; i < rows * columns; ++i) {
        float sum = bias[i % columns];
        for (size_t k = 0; k < kDepth; ++k) {
          sum += input[i / columns * kDepth + k] * weights[i % columns * kDepth + k];
        }
        ASSERT_EQ(output[i], std::min(sum, 50.0f)) << rows << " rows, " << columns << " columns, element " << i;
      }
      ASSERT_EQ(output.back(), -1e6f) << "written past the end";
    }
    xnn_delete_operator(op);
  }
}

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

/// Operators use only the kernels with the widest vectors that the processor has, so this test calls each kernel.
TEST_P(XnnpackProducts, TheKernelsOfEachKindOfVectors) {
  constexpr size_t kDepth = 21;
  const float limits[2] = {-kInfinity, 40.0f};
  for (const TallProduct& product : {avx2_product(), avx512_product()}) {
    if (product.function == nullptr) {
      continue;
    }
    for (const size_t columns : {1, 7, 8, 9, 16, 17, 24, 33, 48, 57, 64, 71, 96, 130}) {
      // A panel has the biases, then the weights of each k. A last panel has more columns than the kernel should use.
      const size_t panels = (columns + product.columns - 1) / product.columns;
      const auto packed = integers(panels * product.columns * (1 + kDepth), columns);
      for (size_t rows = 1; rows <= 24; ++rows) {
        const auto input = integers(rows * kDepth, rows);
        std::vector<float> output(rows * columns + 1, -1e6f);
        product.function(rows, columns, kDepth * sizeof(float), input.data(), kDepth * sizeof(float), packed.data(),
                         output.data(), columns * sizeof(float), product.columns * sizeof(float), limits);
        for (size_t i = 0; i < rows * columns; ++i) {
          const size_t column = i % columns;
          const float* const panel =
              packed.data() + column / product.columns * product.columns * (1 + kDepth) + column % product.columns;
          float sum = panel[0];
          for (size_t k = 0; k < kDepth; ++k) {
            sum += input[i / columns * kDepth + k] * panel[(1 + k) * product.columns];
          }
          ASSERT_EQ(output[i], std::min(sum, 40.0f))
              << product.instructions << ", " << rows << " rows, " << columns << " columns, element " << i;
        }
        ASSERT_EQ(output.back(), -1e6f) << "written past the end";
      }
    }
  }
}

#endif

/// 3 x 3 convolutions of images of each width, with a padding of one. There are two images, so that the second has an
/// offset.
void check_windows(size_t height) {
  constexpr size_t kBatch = 2, kIn = 5, kOut = 37;
  const auto weights = integers(kOut * 9 * kIn, 1);
  const auto bias = integers(kOut, 2);
  xnn_operator_t op = nullptr;
  ASSERT_EQ(xnn_create_convolution2d_nhwc_f32(1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, kIn, kOut, kIn, kOut, weights.data(),
                                              bias.data(), -20.0f, kInfinity, 0, nullptr, nullptr, &op),
            xnn_status_success);
  for (size_t width = 1; width <= 14; ++width) {
    const auto input = integers(kBatch * height * width * kIn, 3);
    std::vector<float> output(kBatch * height * width * kOut, -1e6f);
    size_t workspace_size = 0, alignment = 0, height_out = 0, width_out = 0;
    ASSERT_EQ(xnn_reshape_convolution2d_nhwc_f32(op, kBatch, height, width, &workspace_size, &alignment, &height_out,
                                                 &width_out, nullptr),
              xnn_status_success);
    ASSERT_EQ(width_out, width);
    std::vector<char> workspace(workspace_size + 64);
    ASSERT_EQ(xnn_setup_convolution2d_nhwc_f32(op, workspace.data(), input.data(), output.data()), xnn_status_success);
    ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
    for (size_t i = 0; i < output.size(); ++i) {
      const size_t channel = i % kOut, x = i / kOut % width, y = i / kOut / width % height,
                   image = i / kOut / width / height;
      float sum = bias[channel];
      for (size_t tap = 0; tap < 9; ++tap) {
        const size_t from_y = y + tap / 3 - 1, from_x = x + tap % 3 - 1;  // wraps in the padding
        if (from_y < height && from_x < width) {
          for (size_t k = 0; k < kIn; ++k) {
            sum +=
                input[((image * height + from_y) * width + from_x) * kIn + k] * weights[(channel * 9 + tap) * kIn + k];
          }
        }
      }
      ASSERT_EQ(output[i], std::max(sum, -20.0f)) << "width " << width << ", element " << i;
    }
  }
  xnn_delete_operator(op);
}

/// XNNPACK chooses among its kernels by the number of pixels.
TEST_P(XnnpackProducts, WindowsWithPadding) {
  for (const size_t height : {1, 2, 3}) {
    ASSERT_NO_FATAL_FAILURE(check_windows(height));
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
