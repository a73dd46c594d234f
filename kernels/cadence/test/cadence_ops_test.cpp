// SPDX-License-Identifier: BSD-3-Clause
// Calls whose results can be computed by hand, and calls that are refused.
// tests/python/operators/test_cadence_operators.py compares random calls with the operators in Python.
#include <algorithm>
#include <vector>

#include <kernels/cadence/NativeFunctions.h>
#include <kernels/cadence/RegisterKernels.h>
#include <kernels/portable/test/kernel_test.h>

namespace torch::executor::native {
namespace {

constexpr int64_t kHalf = 1 << 30;  // the multiplier of 1/2

template <size_t N>
executorch::aten::IntArrayRef ints(const int64_t (&values)[N]) {
  return values;
}

class CadenceTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Char> tc;
  TensorFactory<ScalarType::Byte> tb;
  TensorFactory<ScalarType::Short> ts;
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Float> tf;
};

TEST_F(CadenceTest, Edges) {
  Tensor out = tc.zeros({6});
  const Tensor in = tf.make({6}, {0.0f, 0.25f, 0.75f, -100.0f, 100.0f, kNaN});
  cadence_quantize_per_tensor_out(ctx, in, 0.5, 3, -128, 127, ScalarType::Char, out);
  EXPECT_TENSOR_EQ(out, tc.make({6}, {3, 3, 5, -128, 127, -128}));  // halves go to the even integer
  Tensor back = tf.zeros({6});
  cadence_dequantize_per_tensor_out(ctx, out, 0.5, 3, -128, 127, ScalarType::Char, back);
  EXPECT_TENSOR_EQ(back, tf.make({6}, {0.0f, 0.0f, 1.0f, -65.5f, 62.0f, -65.5f}));
  Tensor wide = ts.zeros({6});
  cadence_requantize_per_tensor_out(ctx, out, 0.5, 3, 0.25, -1, ScalarType::Short, wide);
  EXPECT_TENSOR_EQ(wide, ts.make({6}, {-1, -1, 3, -263, 247, -263}));
  cadence_quantize_per_tensor_out(ctx, in, 0.0, 3, -128, 127, ScalarType::Char, out);
  expect_failure();
  cadence_quantize_per_tensor_out(ctx, in, 0.5, 3, -129, 127, ScalarType::Char, out);
  expect_failure();
  cadence_quantize_per_tensor_out(ctx, in, 0.5, 3, 0, 255, ScalarType::Byte, out);
  expect_failure();
}

TEST_F(CadenceTest, Linear) {
  const Tensor in = tc.make({2, 2}, {1, 2, 3, -4}), weight = tc.make({3, 2}, {1, 1, 2, 0, -1, 3});
  const Tensor bias = ti.make({3}, {10, 0, -1});
  Tensor out = tc.zeros({2, 3});
  // Sums with the zero points 1 and 0: (0 + 1, 0, 3), (2 - 5, 4, -2 - 15), each with its bias, doubled, minus 2.
  cadence_quantized_linear_per_tensor_out(ctx, in, weight, bias, 1, 0, kHalf, 2, -2, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 3}, {20, -2, 2, 12, 6, -38}));
  // The only int32 for the factor 1 is -2^31.
  cadence_quantized_linear_per_tensor_out(ctx, in, weight, bias, 1, 0, INT32_MIN, 0, 0, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 3}, {11, 0, 2, 7, 4, -18}));
  cadence_quantized_linear_per_tensor_out(ctx, in, weight, bias, 1, 0, 0, 0, 0, std::nullopt, out);
  expect_failure();
  cadence_quantized_fully_connected_per_tensor_out(ctx, in, weight, bias, 1, 0, kHalf, 1, 0, std::nullopt, out);
  expect_failure();  // two rows
  cadence_quantized_linear_per_tensor_out(ctx, in, tc.zeros({3, 5}), bias, 1, 0, kHalf, 1, 0, std::nullopt, out);
  expect_failure();
}

TEST_F(CadenceTest, Convolution) {
  const Tensor in = tc.make({1, 1, 1, 4}, {1, 2, 3, 4}), weight = tc.make({1, 1, 1, 3}, {1, 10, 2});
  const Tensor bias = ti.make({1}, {5});
  Tensor out = tc.zeros({1, 1, 1, 4});
  cadence_quantized_conv_first_per_tensor_out(ctx, in, weight, bias, ints({1, 1}), ints({0, 1}), ints({1, 1}), 1, 1, 0,
                                              1.0, 1.0, -3, 1, 0, out);
  // The border has the zero point 1, and counts as 0: 0 10 20 30 + 0 0 1 2 + 2 4 6 0, plus 5 minus 3.
  EXPECT_TENSOR_EQ(out, tc.make({1, 1, 1, 4}, {4, 16, 29, 34}));
  Tensor last = tc.zeros({1, 1, 4, 1});
  cadence_quantized_conv_last_per_tensor_out(ctx, tc.make({1, 1, 4, 1}, {1, 2, 3, 4}),
                                             tc.make({1, 1, 3, 1}, {1, 10, 2}), bias, ints({1, 1}), ints({0, 1}),
                                             ints({1, 1}), 1, 1, 0, 1.0, 1.0, -3, 1, 0, last);
  EXPECT_TENSOR_EQ(last, tc.make({1, 1, 4, 1}, {4, 16, 29, 34}));
  cadence_quantized_conv_first_per_tensor_out(ctx, in, weight, bias, ints({0, 1}), ints({0, 1}), ints({1, 1}), 1, 1, 0,
                                              1.0, 1.0, -3, 1, 0, out);
  expect_failure();
  cadence_quantized_conv_first_per_tensor_out(ctx, in, weight, bias, ints({1, 1}), ints({0, 0}), ints({1, 2}), 1, 1, 0,
                                              1.0, 1.0, -3, 1, 0, out);
  expect_failure();  // a kernel of 5 elements
}

// For an image of ones, results are the numbers of pixels under a 3 x 3 window at each position, for outputs that share
// the window and for depthwise channels.
TEST_F(CadenceTest, WindowsAtBorders) {
  const std::vector<int8_t> counts = {4, 6, 4, 6, 9, 6, 4, 6, 4};
  std::vector<int8_t> first, last;
  for (size_t i = 0; i < 4 * counts.size(); ++i) {
    first.push_back(counts[i % counts.size()]);
    last.push_back(counts[i / 4]);
  }
  const Tensor bias = ti.zeros({4}), weight = tc.ones({4, 1, 3, 3}), channels_last = tc.ones({4, 3, 3, 1});
  Tensor out = tc.zeros({1, 4, 3, 3}), out_last = tc.zeros({1, 3, 3, 4});
  cadence_quantized_conv_first_per_tensor_out(ctx, tc.ones({1, 1, 3, 3}), weight, bias, ints({1, 1}), ints({1, 1}),
                                              ints({1, 1}), 1, 0, 0, 1.0, 1.0, 0, 1, 0, out);
  EXPECT_TENSOR_EQ(out, tc.make({1, 4, 3, 3}, first));
  for (const int64_t groups : {1, 4}) {
    const Tensor in = groups == 1 ? tc.ones({1, 3, 3, 1}) : tc.ones({1, 3, 3, 4});
    cadence_quantized_conv_last_per_tensor_out(ctx, in, channels_last, bias, ints({1, 1}), ints({1, 1}), ints({1, 1}),
                                               groups, 0, 0, 1.0, 1.0, 0, 1, 0, out_last);
    EXPECT_TENSOR_EQ(out_last, tc.make({1, 3, 3, 4}, last));
  }
}

TEST_F(CadenceTest, Matmul) {
  const Tensor x = tc.make({1, 2}, {3, -1}), y = tc.make({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = tc.zeros({1, 3});
  cadence_quantized_matmul_out(ctx, x, 1, y, 2, std::nullopt, kHalf, 1, 0, false, out);
  EXPECT_TENSOR_EQ(out, tc.make({1, 3}, {-6, -6, -6}));  // 2 (-1 0 1) - 2 (2 3 4)
  cadence_quantized_matmul_out(ctx, x, 1, tc.make({3, 2}, {1, 4, 2, 5, 3, 6}), 2, std::nullopt, kHalf, 1, 0, true, out);
  EXPECT_TENSOR_EQ(out, tc.make({1, 3}, {-6, -6, -6}));
  cadence_quantized_matmul_out(ctx, x, 1, tc.zeros({3, 3}), 2, std::nullopt, kHalf, 1, 0, true, out);
  expect_failure();
}

TEST_F(CadenceTest, SumsAndChoices) {
  Tensor out = tb.zeros({2, 2});
  cadence_quantized_add_per_tensor_out(ctx, tb.make({2, 2}, {10, 20, 30, 255}), 0.5, 10, tb.make({2}, {0, 4}), 1.0, 2,
                                       0.25, 100, out);
  EXPECT_TENSOR_EQ(out, tb.make({2, 2}, {92, 128, 132, 255}));
  Tensor relu = tc.zeros({3});
  cadence_quantized_relu_per_tensor_out(ctx, tc.make({3}, {-5, 3, 20}), 3, -128, kHalf, 1, relu);
  EXPECT_TENSOR_EQ(relu, tc.make({3}, {-128, -128, -111}));
  Tensor bits = tb.zeros({1});
  cadence_sdpa_bitwise_mask_gen_out(ctx, tf.make({8}, {0, 1, 1, 1, 1, 1, 0, 1}), 0.5, bits);
  EXPECT_TENSOR_EQ(bits, tb.make({1}, {0x41}));
}

// Sizes around those of blocks and vectors. All inputs and weights are ones, so that each result is the number of
// products in its sum; sanitizers see whether a kernel reads or writes beyond a tensor.
TEST_F(CadenceTest, ConvolutionsOfManySizes) {
  struct Layer {
    int32_t channels, outputs, groups, height, width;
  };
  for (const Layer& l : {Layer{3, 17, 1, 3, 3},
                         {16, 65, 1, 1, 1},
                         {5, 1, 1, 3, 3},
                         {4, 6, 2, 2, 3},
                         {33, 33, 33, 3, 3},
                         {5, 5, 5, 2, 7},
                         {2, 2, 1, 1, 33},
                         {1, 4, 1, 5, 5}}) {
    for (const int32_t stride : {1, 2}) {
      const int32_t rows = 9, columns = 35, inputs = l.channels / l.groups;
      const int32_t top = l.height / 2, left = l.width / 2;
      const int32_t out_rows = (rows + 2 * top - l.height) / stride + 1;
      const int32_t out_columns = (columns + 2 * left - l.width) / stride + 1;
      const auto covered = [](int32_t start, int32_t reach, int32_t size) {
        return std::min(start + reach, size) - std::max(start, 0);
      };
      std::vector<int8_t> first, last;
      for (int32_t i = 0; i < l.outputs * out_rows * out_columns; ++i) {
        const auto count = [&](int32_t place) {
          const int32_t y = place / out_columns * stride - top, x = place % out_columns * stride - left;
          return static_cast<int8_t>(
              std::min(inputs * covered(y, l.height, rows) * covered(x, l.width, columns), int32_t{127}));
        };
        first.push_back(count(i % (out_rows * out_columns)));
        last.push_back(count(i / l.outputs));
      }
      const Tensor bias = ti.zeros({l.outputs});
      Tensor out = tc.zeros({1, l.outputs, out_rows, out_columns});
      cadence_quantized_conv_first_per_tensor_out(
          ctx, tc.ones({1, l.channels, rows, columns}), tc.ones({l.outputs, inputs, l.height, l.width}), bias,
          ints({stride, stride}), ints({top, left}), ints({1, 1}), l.groups, 0, 0, 1.0, 1.0, 0, 1, 0, out);
      EXPECT_TENSOR_EQ(out, tc.make({1, l.outputs, out_rows, out_columns}, first));
      Tensor out_last = tc.zeros({1, out_rows, out_columns, l.outputs});
      cadence_quantized_conv_last_per_tensor_out(
          ctx, tc.ones({1, rows, columns, l.channels}), tc.ones({l.outputs, l.height, l.width, inputs}), bias,
          ints({stride, stride}), ints({top, left}), ints({1, 1}), l.groups, 0, 0, 1.0, 1.0, 0, 1, 0, out_last);
      EXPECT_TENSOR_EQ(out_last, tc.make({1, out_rows, out_columns, l.outputs}, last));
    }
  }
}

TEST_F(CadenceTest, MatricesAndRowsOfManySizes) {
  for (const int32_t rows : {1, 2, 17}) {
    for (const int32_t depth : {1, 16, 33, 193}) {
      for (const int32_t outputs : {1, 5, 33}) {
        const int8_t sum = static_cast<int8_t>(std::min(depth, int32_t{127}));
        const Tensor x = tc.ones({rows, depth}), expected = tc.full({rows, outputs}, sum);
        Tensor out = tc.zeros({rows, outputs});
        cadence_quantized_linear_per_tensor_out(ctx, x, tc.ones({outputs, depth}), ti.zeros({outputs}), 0, 0, kHalf, 1,
                                                0, std::nullopt, out);
        EXPECT_TENSOR_EQ(out, expected);
        for (const bool transposed : {false, true}) {
          const Tensor y = transposed ? tc.ones({outputs, depth}) : tc.ones({depth, outputs});
          out = tc.zeros({rows, outputs});
          cadence_quantized_matmul_out(ctx, x, 0, y, 0, std::nullopt, kHalf, 1, 0, transposed, out);
          EXPECT_TENSOR_EQ(out, expected);
        }
      }
      // Equal numbers are normalised to the bias 2, four steps of 0.5, and each has its share of 1 in a softmax.
      const Tensor x = tc.ones({rows, depth});
      Tensor out = tc.zeros({rows, depth});
      cadence_quantized_layer_norm_per_tensor_out(ctx, x, 0.5, 3, ints({depth}), tf.ones({depth}),
                                                  tf.full({depth}, 2.0f), 1e-5, 0.5, 0, out);
      EXPECT_TENSOR_EQ(out, tc.full({rows, depth}, 4));
      cadence_quantized_softmax_per_tensor_out(ctx, x, ti.zeros({1}), -1, 0, ti.zeros({1}), 0.5, 3, 1.0 / depth, 0,
                                               out);
      EXPECT_TENSOR_EQ(out, tc.full({rows, depth}, 1));
    }
  }
}

}  // namespace
}  // namespace torch::executor::native
