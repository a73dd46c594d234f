// SPDX-License-Identifier: BSD-3-Clause
// int8 results equal exact sums that are scaled and rounded to nearest, ties to even.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/depthwise.h"
#include "kernels/products.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr int kInputZero = -3, kOutputZero = 5, kLeast = -100, kMost = 90;
constexpr float kInputScale = 0.5f, kOutputScale = 4.0f;

/// Random int8 numbers, followed by padding that kernels may read.
std::vector<int8_t> bytes(size_t count, uint32_t seed) {
  std::vector<int8_t> values(count + XNN_EXTRA_BYTES);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<int8_t>(seed >> 24);
  }
  return values;
}

struct Layer {
  Layer(size_t columns, size_t depth) : weights(bytes(columns * depth, 1)), bias(columns), scales(columns) {
    for (size_t i = 0; i < columns; ++i) {
      bias[i] = static_cast<int32_t>(i * 97 % 4001) - 2000;
      scales[i] = std::ldexp(1.0f, -static_cast<int>(i % 5) - 6);
    }
  }

  int result(int64_t sum, size_t column) const {
    const float scale = kInputScale * scales[column] / kOutputScale;
    const float rounded = std::nearbyint(static_cast<float>(sum + bias[column]) * scale);
    return static_cast<int>(std::clamp(rounded + kOutputZero, static_cast<float>(kLeast), static_cast<float>(kMost)));
  }

  std::vector<int8_t> weights;
  std::vector<int32_t> bias;
  std::vector<float> scales;
};

/// Runs a convolution over `batch` images, of any size.
void convolve(xnn_operator_t op, size_t batch, size_t height, size_t width, const std::vector<int8_t>& input,
              std::vector<int8_t>& output) {
  size_t workspace_size = 0, alignment = 0, height_out = 0, width_out = 0;
  ASSERT_EQ(xnn_reshape_convolution2d_nhwc_qs8_qc8w(op, batch, height, width, &workspace_size, &alignment, &height_out,
                                                    &width_out, nullptr),
            xnn_status_success);
  std::vector<char> workspace(workspace_size + 64);
  ASSERT_EQ(xnn_setup_convolution2d_nhwc_qs8_qc8w(op, workspace.data(), input.data(), output.data()),
            xnn_status_success);
  ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
}

/// The parameter is whether kernels prefetch weights, which must not change results.
class XnnpackIntegerProducts : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_integer_products();
    use_depthwise();
    expect_far_weights(GetParam());
  }
  void TearDown() override { expect_far_weights(false); }
};

INSTANTIATE_TEST_SUITE_P(FarWeights, XnnpackIntegerProducts, ::testing::Bool());

TEST_P(XnnpackIntegerProducts, EachNumberOfRowsAndColumns) {
  for (const size_t depth : {1, 7, 8, 24, 33, 1030}) {
    for (const size_t columns : {1, 8, 15, 16, 17, 40}) {
      const Layer layer(columns, depth);
      xnn_operator_t op = nullptr;
      ASSERT_EQ(xnn_create_fully_connected_nc_qs8_qc8w(
                    depth, columns, depth, columns, kInputZero, kInputScale, layer.scales.data(), layer.weights.data(),
                    layer.bias.data(), kOutputZero, kOutputScale, kLeast, kMost, 0, nullptr, nullptr, &op),
                xnn_status_success);
      for (size_t rows = 1; rows <= 26; ++rows) {
        const auto input = bytes(rows * depth, 3);
        std::vector<int8_t> output(rows * columns + 1, 127);
        ASSERT_EQ(xnn_reshape_fully_connected_nc_qs8_qc8w(op, rows, nullptr), xnn_status_success);
        ASSERT_EQ(xnn_setup_fully_connected_nc_qs8_qc8w(op, input.data(), output.data()), xnn_status_success);
        ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
        for (size_t i = 0; i < rows * columns; ++i) {
          int64_t sum = 0;
          for (size_t k = 0; k < depth; ++k) {
            sum += (input[i / columns * depth + k] - kInputZero) * layer.weights[i % columns * depth + k];
          }
          ASSERT_EQ(output[i], layer.result(sum, i % columns))
              << depth << " deep, " << rows << " rows, " << columns << " columns, element " << i;
        }
        ASSERT_EQ(output.back(), 127) << "written past the end";
      }
      xnn_delete_operator(op);
    }
  }
}

/// 3 x 3 convolutions of images of each width, with a padding of one. There are two images, so that the second has an
/// offset.
TEST_P(XnnpackIntegerProducts, WindowsWithPadding) {
  constexpr size_t kBatch = 2, kHeight = 3, kOut = 19;
  for (const size_t in : {5, 130}) {
    const Layer layer(kOut, 9 * in);
    xnn_operator_t op = nullptr;
    ASSERT_EQ(xnn_create_convolution2d_nhwc_qs8_qc8w(1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, in, kOut, in, kOut, kInputZero,
                                                     kInputScale, layer.scales.data(), layer.weights.data(),
                                                     layer.bias.data(), kOutputZero, kOutputScale, kLeast, kMost, 0,
                                                     nullptr, nullptr, &op),
              xnn_status_success);
    for (size_t width = 1; width <= 14; ++width) {
      const auto input = bytes(kBatch * kHeight * width * in, 3);
      std::vector<int8_t> output(kBatch * kHeight * width * kOut, 127);
      ASSERT_NO_FATAL_FAILURE(convolve(op, kBatch, kHeight, width, input, output));
      for (size_t i = 0; i < output.size(); ++i) {
        const size_t channel = i % kOut, x = i / kOut % width, y = i / kOut / width % kHeight,
                     image = i / kOut / width / kHeight;
        int64_t sum = 0;
        for (size_t tap = 0; tap < 9; ++tap) {
          const size_t from_y = y + tap / 3 - 1, from_x = x + tap % 3 - 1;  // wraps in the padding
          if (from_y < kHeight && from_x < width) {
            for (size_t k = 0; k < in; ++k) {
              sum += (input[((image * kHeight + from_y) * width + from_x) * in + k] - kInputZero) *
                     layer.weights[(channel * 9 + tap) * in + k];
            }
          }
        }
        ASSERT_EQ(output[i], layer.result(sum, channel)) << "width " << width << ", element " << i;
      }
    }
    xnn_delete_operator(op);
  }
}

/// Depthwise 3 x 3 and 5 x 5 convolutions of two images.
TEST_P(XnnpackIntegerProducts, DepthwiseWindowsWithPadding) {
  constexpr size_t kBatch = 2, kHeight = 3;
  for (const size_t window : {3, 5}) {
    for (const size_t channels : {1, 8, 15, 16, 17, 40}) {
      const size_t taps = window * window, pad = window / 2;
      const Layer layer(channels, taps);
      xnn_operator_t op = nullptr;
      const auto edge = static_cast<uint32_t>(pad), side = static_cast<uint32_t>(window);
      ASSERT_EQ(xnn_create_convolution2d_nhwc_qs8_qc8w(
                    edge, edge, edge, edge, side, side, 1, 1, 1, 1, static_cast<uint32_t>(channels), 1, 1, channels,
                    channels, kInputZero, kInputScale, layer.scales.data(), layer.weights.data(), layer.bias.data(),
                    kOutputZero, kOutputScale, kLeast, kMost, 0, nullptr, nullptr, &op),
                xnn_status_success);
      for (const size_t width : {1, 2, 3, 4, 7, 32, 33, 70}) {
        const auto input = bytes(kBatch * kHeight * width * channels, 3);
        std::vector<int8_t> output(kBatch * kHeight * width * channels + 1, 127);
        ASSERT_NO_FATAL_FAILURE(convolve(op, kBatch, kHeight, width, input, output));
        for (size_t i = 0; i + 1 < output.size(); ++i) {
          const size_t channel = i % channels, x = i / channels % width, y = i / channels / width % kHeight,
                       image = i / channels / width / kHeight;
          int64_t sum = 0;
          for (size_t tap = 0; tap < taps; ++tap) {
            const size_t from_y = y + tap / window - pad,
                         from_x = x + tap % window - pad;  // wraps in the padding
            if (from_y < kHeight && from_x < width) {
              sum += (input[((image * kHeight + from_y) * width + from_x) * channels + channel] - kInputZero) *
                     layer.weights[channel * taps + tap];
            }
          }
          ASSERT_EQ(output[i], layer.result(sum, channel))
              << window << " x " << window << ", " << channels << " channels, width " << width << ", element " << i;
        }
        ASSERT_EQ(output.back(), 127) << "written past the end";
      }
      xnn_delete_operator(op);
    }
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
