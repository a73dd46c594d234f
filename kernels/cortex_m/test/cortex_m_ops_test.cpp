// SPDX-License-Identifier: BSD-3-Clause
// Calls whose results can be computed by hand, and calls that are refused.
// tests/python/operators/test_cortex_m_operators.py compares every bit of random calls.
#include <kernels/cortex_m/NativeFunctions.h>
#include <kernels/cortex_m/RegisterKernels.h>
#include <kernels/portable/test/kernel_test.h>

namespace torch::executor::native {
namespace {

constexpr int32_t kHalf = 1 << 30;  // the multiplier of 1/2

template <size_t N>
executorch::aten::IntArrayRef ints(const int64_t (&values)[N]) {
  return values;
}

class CortexMTest : public KernelTest {
 protected:
  // An image in the format channels_last; the numbers are in that order.
  Tensor image(const std::vector<int32_t>& sizes, const std::vector<int8_t>& numbers) {
    return tc.make_with_dimorder(sizes, numbers, {0, 2, 3, 1});
  }
  Tensor blank(const std::vector<int32_t>& sizes) {
    return image(sizes, std::vector<int8_t>(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]), 99));
  }

  TensorFactory<ScalarType::Char> tc;
  TensorFactory<ScalarType::Byte> tb;
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Float> tf;
  const Tensor scratch = tb.zeros({0});
};

TEST_F(CortexMTest, Conv2d) {
  // Two channels become (a - b + 10) / 2 and (a + 2 b) / 4, with the offset 1 added to a and b.
  const Tensor in = image({1, 2, 1, 3}, {1, 2, 3, 4, -6, 7});
  const Tensor weight = tc.make({2, 1, 1, 2}, {1, -1, 1, 2}), bias = ti.make({2}, {10, 0});
  const Tensor multipliers = ti.make({2}, {kHalf, kHalf}), shifts = ti.make({2}, {0, -1});
  Tensor out = blank({1, 2, 1, 3});
  cortex_m_quantized_conv2d_out(ctx, in, weight, bias, ints({1, 1}), ints({0, 0}), ints({1, 1}), 1, 3, multipliers,
                                shifts, -128, 127, scratch, out);
  // Halves are rounded up by the multiplication, and away from zero by the shift.
  EXPECT_TENSOR_EQ(out, image({1, 2, 1, 3}, {8, 5, 8, 7, 2, 6}));
  cortex_m_quantized_conv2d_out(ctx, in, weight, bias, ints({1, 2}), ints({0, 1}), ints({1, 1}), 1, 3, multipliers,
                                shifts, -128, 7, scratch, out = blank({1, 2, 1, 3}));
  EXPECT_TENSOR_EQ(out, image({1, 2, 1, 3}, {7, 3, 7, 7, 7, 3}));
}

TEST_F(CortexMTest, Conv2dRefuses) {
  const Tensor in = image({1, 2, 1, 3}, {1, 2, 3, 4, -6, 7}), weight = tc.make({2, 1, 1, 2}, {1, -1, 1, 2});
  const Tensor multipliers = ti.make({2}, {kHalf, kHalf}), shifts = ti.make({2}, {0, -1});
  Tensor out = blank({1, 2, 1, 3});
  const auto refuses = [&](const Tensor& x, const Tensor& w, int64_t stride, int64_t offset, const Tensor& shift,
                           int64_t least) {
    cortex_m_quantized_conv2d_out(ctx, x, w, std::nullopt, ints({stride}), ints({0}), ints({1}), offset, 0, multipliers,
                                  shift, least, 127, scratch, out);
    expect_failure();
  };
  refuses(tc.make({1, 2, 1, 3}, {1, 2, 3, 4, -6, 7}), weight, 1, 0, shifts, -128);  // not channels_last
  refuses(in, tc.make({2, 1, 1, 3}, {1, 1, 1, 1, 1, 1}), 1, 0, shifts, -128);       // 3 inputs
  refuses(in, tc.make({2, 1, 4, 2}, std::vector<int8_t>(16)), 1, 0, shifts, -128);  // larger than the image
  refuses(in, weight, 0, 0, shifts, -128);
  refuses(in, weight, 1, 40000, shifts, -128);
  refuses(in, weight, 1, 0, ti.make({2}, {0, 32}), -128);
  refuses(in, weight, 1, 0, ti.make({1}, {0}), -128);
  refuses(in, weight, 1, 0, shifts, -129);
}

TEST_F(CortexMTest, DepthwiseConv2d) {
  const Tensor in = image({1, 2, 1, 2}, {1, 2, 3, 4}), weight = tc.make({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor multipliers = ti.full({4}, kHalf), shifts = ti.full({4}, 1);  // 1
  Tensor out = blank({1, 4, 1, 1});
  cortex_m_quantized_depthwise_conv2d_out(ctx, in, weight, std::nullopt, ints({1}), ints({0}), ints({1}), 2, 0, 0,
                                          multipliers, shifts, -128, 127, scratch, out);
  EXPECT_TENSOR_EQ(out, image({1, 4, 1, 1}, {1 + 15, 2 + 18, 6 + 28, 8 + 32}));
  cortex_m_quantized_depthwise_conv2d_out(ctx, in, weight, std::nullopt, ints({1}), ints({0}), ints({1}), 3, 0, 0,
                                          multipliers, shifts, -128, 127, scratch, out);
  expect_failure();
}

TEST_F(CortexMTest, TransposeConv2d) {
  const Tensor in = image({1, 1, 1, 2}, {1, 2}), weight = tc.make({1, 1, 3, 1}, {1, 10, 20});
  Tensor out = blank({1, 1, 1, 5});
  cortex_m_quantized_transpose_conv2d_out(ctx, in, weight, std::nullopt, ints({2}), ints({0}), ints({0}), ints({1}), 0,
                                          0, ti.full({1}, kHalf), ti.full({1}, 1), -128, 127, scratch, scratch, out);
  EXPECT_TENSOR_EQ(out, image({1, 1, 1, 5}, {1, 10, 22, 20, 40}));
}

TEST_F(CortexMTest, Pools) {
  const Tensor in = image({1, 1, 2, 3}, {1, 2, 4, -1, -2, -7});
  Tensor out = blank({1, 1, 1, 2});
  cortex_m_quantized_avg_pool2d_out(ctx, in, ints({2, 2}), ints({1, 1}), ints({0, 0}), 0, kHalf, 1, scratch, out);
  EXPECT_TENSOR_EQ(out, image({1, 1, 1, 2}, {0, -1}));  // 0/4, -3/4
  cortex_m_quantized_max_pool2d_out(ctx, in, ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({1, 1}), false, 5, 5, -128,
                                    3, out);
  EXPECT_TENSOR_EQ(out, image({1, 1, 1, 2}, {2, 3}));
  cortex_m_quantized_max_pool2d_out(ctx, in, ints({2, 2}), ints({2, 2}), ints({0, 0}), ints({1, 1}), true, 5, 5, -128,
                                    127, out);
  EXPECT_TENSOR_EQ(out, image({1, 1, 1, 2}, {2, 4}));
  cortex_m_quantized_max_pool2d_out(ctx, in, ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({1, 1}), false, 5, 6, -128,
                                    127, out);
  expect_failure();
  cortex_m_quantized_avg_pool2d_out(ctx, in, ints({2, 2}), ints({1, 1}), ints({2, 2}), 0, kHalf, 1, scratch, out);
  expect_failure();
}

TEST_F(CortexMTest, Linear) {
  const Tensor in = tc.make({2, 2}, {1, 2, 3, -4}), weights = tc.make({3, 2}, {1, 1, 2, 0, -1, 3});
  const Tensor bias = ti.make({3}, {10, 0, -1});
  Tensor out = tc.zeros({2, 3});
  cortex_m_quantized_linear_out(ctx, in, weights, bias, std::nullopt, 1, 0, -2, ints({kHalf}), ints({1}), 127, -128,
                                out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 3}, {13, 2, 4, 9, 6, -16}));
  // The same numbers, with the offset and the bias included in the sums of the weights: 1 * (2, 2, 2) + bias.
  cortex_m_quantized_linear_out(ctx, in, weights, std::nullopt, ti.make({1, 3}, {12, 2, 1}), 1, 0, -2, ints({kHalf}),
                                ints({1}), 127, -128, out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 3}, {13, 2, 4, 9, 6, -16}));
  cortex_m_quantized_linear_out(ctx, in, weights, bias, std::nullopt, 1, 0, -2, ints({kHalf, kHalf}), ints({1, 1}), 127,
                                -128, out);
  expect_failure();
}

TEST_F(CortexMTest, BatchMatmul) {
  const Tensor a = tc.make({1, 1, 2}, {1, 2}), b = tc.make({1, 2, 2}, {3, 4, 5, 6});
  Tensor out = tc.zeros({1, 1, 2});
  cortex_m_quantized_batch_matmul_out(ctx, a, 1, b, -3, 1, kHalf, 0, scratch, out);
  EXPECT_TENSOR_EQ(out, tc.make({1, 1, 2}, {3, 8}));  // (0 + 3) / 2, (4 + 9) / 2
  cortex_m_quantized_batch_matmul_out(ctx, b, 1, b, -3, 1, kHalf, 0, scratch, out);
  expect_failure();
}

TEST_F(CortexMTest, AddAndMul) {
  const Tensor a = tc.make({2, 2}, {1, 2, 3, -128}), b = tc.make({2}, {10, 127});
  Tensor out = tc.zeros({2, 2});
  cortex_m_quantized_add_out(ctx, a, 1, kHalf, 0, b, 0, kHalf, 0, -5, kHalf, -18, -128, 127, out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 2}, {5, 123, 7, -7}));
  cortex_m_quantized_mul_out(ctx, a, 1, b, 0, 0, kHalf, -1, out);
  EXPECT_TENSOR_EQ(out, tc.make({2, 2}, {0, 32, 5, -128}));
  cortex_m_quantized_mul_out(ctx, a, 1, b, 0, 0, kHalf, -32, out);
  expect_failure();
  cortex_m_quantized_add_out(ctx, a, 1, kHalf, 0, tc.make({3}, {1, 2, 3}), 0, kHalf, 0, 0, kHalf, 0, -128, 127, out);
  expect_failure();
}

TEST_F(CortexMTest, Activation) {
  std::vector<int8_t> squares;
  for (int i = -128; i < 128; ++i) {
    squares.push_back(static_cast<int8_t>(std::min(i * i, 127)));
  }
  Tensor out = tc.zeros({3});
  cortex_m_quantized_activation_out(ctx, tc.make({3}, {-128, -3, 11}), tc.make({256}, squares), out);
  EXPECT_TENSOR_EQ(out, tc.make({3}, {127, 9, 121}));
  cortex_m_quantized_activation_out(ctx, out, tc.zeros({255}), out);
  expect_failure();
}

TEST_F(CortexMTest, MinimumAndMaximum) {
  const Tensor a = tc.make({3}, {-1, 2, 5}), two = tc.make({}, {2});
  Tensor out = tc.zeros({3}), ints = ti.zeros({2});
  cortex_m_minimum_out(ctx, a, two, out);
  EXPECT_TENSOR_EQ(out, tc.make({3}, {-1, 2, 2}));
  cortex_m_maximum_out(ctx, two, a, out);
  EXPECT_TENSOR_EQ(out, tc.make({3}, {2, 2, 5}));
  cortex_m_minimum_out(ctx, ti.make({2}, {1 << 30, 3}), ti.make({2}, {7, -9}), ints);
  EXPECT_TENSOR_EQ(ints, ti.make({2}, {7, -9}));
  cortex_m_maximum_out(ctx, a, ints, out);
  expect_failure();
  Tensor floats = tf.zeros({2});
  cortex_m_minimum_out(ctx, floats, floats, floats);
  expect_failure();
}

TEST_F(CortexMTest, Softmax) {
  // One step of the input is ln 2, so the probabilities are 1/2, 1/4, 1/8, 1/8; they are multiplied by 256, minus 128.
  const int64_t multiplier = 1488522236;  // ln 2 * 2^31
  Tensor out = tc.zeros({4});
  cortex_m_softmax_out(ctx, tc.make({4}, {3, 2, 1, 1}), -1, 0, -128, multiplier, 26, -31, out);
  EXPECT_TENSOR_EQ(out, tc.make({4}, {0, -64, -96, -96}));
  // Elements whose difference to the largest is below diff_min have the probability 0.
  cortex_m_softmax_out(ctx, tc.make({4}, {127, 127, -128, -128}), -1, 0, -128, multiplier, 26, -31, out);
  EXPECT_TENSOR_EQ(out, tc.make({4}, {0, 0, -128, -128}));
  cortex_m_softmax_out(ctx, out, -1, 0, 0, multiplier, 26, -31, out);
  expect_failure();
  cortex_m_softmax_out(ctx, out, 1, 0, -128, multiplier, 26, -31, out);
  expect_failure();
  cortex_m_softmax_out(ctx, out, -1, 0, -128, multiplier, -1, -31, out);
  expect_failure();
}

TEST_F(CortexMTest, SoftmaxOfAThousand) {
  Tensor out = tc.zeros({10000});
  cortex_m_softmax_out(ctx, tc.full({10000}, 5), 0, 0, -128, kHalf, 22, -1000, out);
  EXPECT_TENSOR_EQ(out, tc.full({10000}, -128));
}

TEST_F(CortexMTest, TransposeAndPad) {
  Tensor out = tc.zeros({3, 2});
  cortex_m_transpose_out(ctx, tc.make({2, 3}, {1, 2, 3, 4, 5, 6}), ints({1, 0}), out);
  EXPECT_TENSOR_EQ(out, tc.make({3, 2}, {1, 4, 2, 5, 3, 6}));
  cortex_m_transpose_out(ctx, out, ints({1, 1}), out);
  expect_failure();
  Tensor row = tc.zeros({4});
  cortex_m_pad_out(ctx, tc.make({2}, {1, 2}), ints({0, 0, 0, 1}), ints({0, 0, 0, 1}), -7, row);
  EXPECT_TENSOR_EQ(row, tc.make({4}, {-7, 1, 2, -7}));
  // An image: batch, height, width, channels.
  Tensor wide = blank({1, 2, 1, 3});
  cortex_m_pad_out(ctx, image({1, 2, 1, 2}, {1, 2, 3, 4}), ints({0, 0, 1, 0}), ints({0, 0, 0, 0}), 9, wide);
  EXPECT_TENSOR_EQ(wide, image({1, 2, 1, 3}, {9, 9, 1, 2, 3, 4}));
  cortex_m_pad_out(ctx, tc.make({2}, {1, 2}), ints({0, 0, 1, 0}), ints({0, 0, 0, 0}), 0, row);
  expect_failure();
  cortex_m_pad_out(ctx, tc.make({2}, {1, 2}), ints({0, 0, 0, -1}), ints({0, 0, 0, 0}), 0, row);
  expect_failure();
}

TEST_F(CortexMTest, Edges) {
  Tensor chars = tc.zeros({5}), wrong = ti.zeros({5});
  cortex_m_quantize_per_tensor_out(ctx, tf.make({5}, {-3, 0.25, 0.75, 200, kNaN}), 0.5, 3, -100, 127, ScalarType::Char,
                                   chars);
  EXPECT_TENSOR_EQ(chars, tc.make({5}, {-3, 3, 5, 127, -100}));
  Tensor floats = tf.zeros({5});
  cortex_m_dequantize_per_tensor_out(ctx, chars, 0.5, 3, -100, 127, ScalarType::Char, floats);
  EXPECT_TENSOR_EQ(floats, tf.make({5}, {-3, 0, 1, 62, -51.5}));
  cortex_m_quantize_per_tensor_out(ctx, floats, 0.5, 3, -100, 127, ScalarType::Int, wrong);
  expect_failure();
  cortex_m_quantize_per_tensor_out(ctx, floats, 0, 3, -100, 127, ScalarType::Char, chars);
  expect_failure();
  cortex_m_dequantize_per_tensor_out(ctx, chars, 0.5, 3, -129, 127, ScalarType::Char, floats);
  expect_failure();
}

TEST_F(CortexMTest, AreRegisteredOnce) {
  EXPECT_EQ(torch::executor::register_cortex_m_kernels(), Error::Ok);
}

}  // namespace
}  // namespace torch::executor::native
