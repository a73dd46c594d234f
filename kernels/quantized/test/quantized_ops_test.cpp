// SPDX-License-Identifier: BSD-3-Clause
// The expected numbers come from PyTorch eager's quantized_decomposed operators.
#include <kernels/portable/test/kernel_test.h>
#include <kernels/quantized/NativeFunctions.h>
#include <kernels/quantized/RegisterKernels.h>

namespace torch::executor::native {
namespace {

class QuantizedTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Double> td;
  TensorFactory<ScalarType::Char> tc;
  TensorFactory<ScalarType::Byte> tb;
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Long> tl;
  const Tensor q = tc.make({2, 3}, {-128, 0, 127, 5, -6, 7});
  const Tensor y = tf.make({2, 3}, {1, -2, 0.3, 0.4, 100, -0.1});
};

TEST_F(QuantizedTest, QuantizePerTensor) {
  const Tensor x = tf.make({8}, {-3, -1.26, -0.25, 0, 0.25, 0.75, 1.25, 200});
  Tensor chars = tc.zeros({8}), bytes = tb.zeros({8}), ints = ti.zeros({8});
  quantize_per_tensor_out(ctx, x, 0.5, 3, -128, 127, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({8}, {-3, 0, 3, 3, 3, 5, 5, 127}));
  quantize_per_tensor_out(ctx, x, 0.5, 3, -8, 7, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({8}, {-3, 0, 3, 3, 3, 5, 5, 7}));
  quantize_per_tensor_tensor_args_out(ctx, x, td.make({1}, {0.5}), tl.make({1}, {3}), 0, 255, ScalarType::Byte, bytes);
  EXPECT_TENSOR_EQ(bytes, tb.make({8}, {0, 0, 3, 3, 3, 5, 5, 255}));
  quantize_per_tensor_out(ctx, x, 1e-6, 3, INT32_MIN, INT32_MAX, ScalarType::Int, ints);
  EXPECT_EQ(ints.const_data_ptr<int32_t>()[0], -2999997);
  EXPECT_EQ(ints.const_data_ptr<int32_t>()[6], 1250003);
}

TEST_F(QuantizedTest, NotANumberBecomesTheLeastValue) {
  Tensor out = tc.zeros({3});
  quantize_per_tensor_out(ctx, tf.make({3}, {kNaN, kInfinity, -kInfinity}), 0.5, 3, -100, 120, ScalarType::Char, out);
  EXPECT_TENSOR_EQ(out, tc.make({3}, {-100, 120, -100}));
}

TEST_F(QuantizedTest, DequantizePerTensor) {
  Tensor out = tf.zeros({2, 3});
  dequantize_per_tensor_out(ctx, q, 0.1, -5, -128, 127, ScalarType::Char, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {-12.3, 0.5, 13.2, 1.0, -0.1, 1.2}));
  dequantize_per_tensor_tensor_args_out(ctx, q, tf.make({1}, {0.1}), ti.make({1}, {-5}), -128, 127, ScalarType::Char,
                                        ScalarType::Float, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {-12.3, 0.5, 13.2, 1.0, -0.1, 1.2}));
}

TEST_F(QuantizedTest, PerChannel) {
  Tensor out = tf.zeros({2, 3}), chars = tc.zeros({2, 3});
  const Tensor by_row = tf.make({2}, {0.5, 0.25}), row_zeros = tl.make({2}, {1, -2});
  const Tensor by_column = td.make({3}, {0.5, 0.25, 0.1}), column_zeros = tl.make({3}, {1, -2, 0});
  dequantize_per_channel_out(ctx, q, by_row, row_zeros, 0, -128, 127, ScalarType::Char, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {-64.5, -0.5, 63.0, 1.75, -1.0, 2.25}));
  dequantize_per_channel_out(ctx, q, by_column, column_zeros, 1, -128, 127, ScalarType::Char, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {-64.5, 0.5, 12.7, 2.0, -1.0, 0.7}));
  dequantize_per_channel_out(ctx, q, by_column, std::nullopt, -1, -128, 127, ScalarType::Char, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {-64.0, 0.0, 12.7, 2.5, -1.5, 0.7}));
  quantize_per_channel_out(ctx, y, by_row, row_zeros, 0, -128, 127, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({2, 3}, {3, -3, 2, 0, 127, -2}));
  quantize_per_channel_out(ctx, y, by_column, column_zeros, 1, -128, 127, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({2, 3}, {3, -10, 3, 2, 127, -1}));
}

TEST_F(QuantizedTest, PerToken) {
  Tensor scales = td.zeros({2, 1}), zeros = tl.zeros({2, 1}), chars = tc.zeros({2, 3}), out = tf.zeros({2, 3});
  choose_qparams_per_token_asymmetric_out(ctx, y, ScalarType::Char, scales, zeros);
  EXPECT_TENSOR_CLOSE(scales, td.make({2, 1}, {0.0117647061124444, 0.3925490081310272}));
  EXPECT_TENSOR_EQ(zeros, tl.make({2, 1}, {42, -128}));
  quantize_per_token_out(ctx, y, scales, zeros, -128, 127, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({2, 3}, {127, -128, 68, -127, 127, -128}));
  dequantize_per_token_out(ctx, chars, scales, zeros, -128, 127, ScalarType::Char, ScalarType::Float, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {1.0, -2.0, 0.30588236, 0.39254901, 100.1, 0.0}));
}

TEST_F(QuantizedTest, ChooseParameters) {
  Tensor scale = td.zeros({1}), zero = tl.zeros({1});
  choose_qparams_tensor_out(ctx, y, -128, 127, 1e-5, ScalarType::Char, scale, zero);
  EXPECT_TENSOR_CLOSE(scale, td.make({1}, {0.4000000059604645}));
  EXPECT_TENSOR_EQ(zero, tl.make({1}, {-123}));
  choose_qparams_tensor_out(ctx, tf.zeros({3}), -128, 127, 1e-5, ScalarType::Char, scale, zero);
  EXPECT_TENSOR_CLOSE(scale, td.make({1}, {1e-5}));
  EXPECT_TENSOR_EQ(zero, tl.make({1}, {-128}));
}

TEST_F(QuantizedTest, Embeddings) {
  const Tensor indices = tl.make({2}, {0, 1}), scales = tf.make({2}, {1, 2});
  Tensor four = tf.zeros({2, 4}), two = tf.zeros({2, 2});
  const Tensor packed = tb.make({2, 2}, {0x12, 0xF8, 0x3C, 0x07});
  quantized_embedding_4bit_out(ctx, packed, scales, std::nullopt, -8, 7, indices, four);
  EXPECT_TENSOR_EQ(four, tf.make({2, 4}, {-7, -6, 7, 0, -10, 8, -16, -2}));
  quantized_embedding_4bit_dtype_out(ctx, packed, tf.make({2, 2}, {1, 10, 2, 20}), tf.make({2, 2}, {1, 1, 0, 0}), -8, 7,
                                     indices, ScalarType::Float, four);
  EXPECT_TENSOR_EQ(four, tf.make({2, 4}, {-8, -7, 60, -10, -10, 8, -160, -20}));
  quantized_embedding_2bit_out(ctx, tb.make({2, 1}, {0xE4, 0x1B}), scales, std::nullopt, -2, 1, indices, four);
  EXPECT_TENSOR_EQ(four, tf.make({2, 4}, {-2, -1, 0, 1, 2, 0, -2, -4}));
  const Tensor bytes = tc.make({2, 2}, {1, -2, 3, 4});
  quantized_embedding_byte_out(ctx, bytes, scales, tf.make({2}, {1, 1}), -128, 127, indices, two);
  EXPECT_TENSOR_EQ(two, tf.make({2, 2}, {0, -3, 4, 6}));
  quantized_embedding_byte_out(ctx, bytes, scales, std::nullopt, -128, 127, tl.make({2}, {0, 2}), two);
  expect_failure();
}

// bfloat16 and float16 hold these scales exactly.
TEST_F(QuantizedTest, EmbeddingsWithScalesOfSixteenBits) {
  TensorFactory<ScalarType::Half> th;
  TensorFactory<ScalarType::BFloat16> tbf;
  const Tensor indices = tl.make({2}, {1, 0}), packed = tb.make({2, 2}, {0x12, 0xF8, 0x3C, 0x07});
  Tensor four = th.zeros({2, 4}), more = tbf.zeros({2, 4}), two = tf.zeros({2, 2});
  quantized_embedding_4bit_out(ctx, packed, th.make({2}, {1, 2}), th.make({2}, {1, 0}), -8, 7, indices, four);
  EXPECT_TENSOR_EQ(four, th.make({2, 4}, {-10, 8, -16, -2, -8, -7, 6, -1}));
  quantized_embedding_2bit_out(ctx, tb.make({2, 1}, {0xE4, 0x1B}), tbf.make({2}, {1, 2}), std::nullopt, -2, 1, indices,
                               more);
  EXPECT_TENSOR_EQ(more, tbf.make({2, 4}, {2, 0, -2, -4, -2, -1, 0, 1}));
  const Tensor bytes = tc.make({2, 2}, {1, -2, 3, 4});
  quantized_embedding_byte_dtype_out(ctx, bytes, th.make({2, 2}, {1, 10, 0.5, 2}), std::nullopt, -128, 127, indices,
                                     ScalarType::Float, two);
  EXPECT_TENSOR_EQ(two, tf.make({2, 2}, {1.5, 8, 1, -20}));
  quantized_embedding_byte_out(ctx, bytes, tl.make({2}, {1, 2}), std::nullopt, -128, 127, indices, two);
  expect_failure();
}

TEST_F(QuantizedTest, MixedProductsWithScalesOfSixteenBitsAndPartialGroups) {
  TensorFactory<ScalarType::Half> th;
  TensorFactory<ScalarType::BFloat16> tbf;
  Tensor out = tf.zeros({1, 2}), half = th.zeros({1, 2});
  const Tensor weight = tc.make({2, 2}, {5, 3, -4, 2});
  quantized_mixed_mm_out(ctx, th.make({1, 2}, {2, 1}), weight, th.make({2}, {0.5, 2}), std::nullopt, half);
  EXPECT_TENSOR_EQ(half, th.make({1, 2}, {-3, 7}));
  quantized_mixed_mm_out(ctx, tf.make({1, 2}, {2, 1}), weight, tbf.make({2, 2}, {0.5, 1, 2, 1}), std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tf.make({1, 2}, {-3, 8}));
  // Groups of two values, and one of one: 2 * (1 + 2) + 10 * (3 + 4) + 100 * 5.
  const Tensor five = tc.make({2, 5}, {1, 2, 3, 4, 5, -1, -2, -3, -4, -5}),
               scales = tf.make({2, 3}, {2, 10, 100, 1, 1, 1});
  quantized_mixed_linear_out(ctx, tf.ones({1, 5}), five, scales, std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tf.make({1, 2}, {576, -15}));
  quantized_mixed_linear_out(ctx, tf.ones({1, 5}), five, tf.ones({2, 4}), std::nullopt, std::nullopt, out);
  expect_failure();  // in groups of two, the fourth would have no value
  // The columns of a product, in groups of two and one.
  Tensor three = tf.zeros({1, 3});
  quantized_mixed_mm_out(ctx, tf.ones({1, 1}), tc.make({1, 3}, {1, 2, 3}), tf.make({1, 2}, {2, 10}), std::nullopt,
                         three);
  EXPECT_TENSOR_EQ(three, tf.make({1, 3}, {2, 4, 30}));
}

TEST_F(QuantizedTest, KernelsNeedNoContext) {
  Tensor chars = tc.zeros({2});
  quantize_per_tensor_out(tf.make({2}, {1, 2}), 0.5, 0, -128, 127, ScalarType::Char, chars);
  EXPECT_TENSOR_EQ(chars, tc.make({2}, {2, 4}));
  Tensor out = tf.zeros({2});
  dequantize_per_tensor_tensor_args_out(chars, td.make({1}, {0.5}), tl.make({1}, {0}), -128, 127, ScalarType::Char,
                                        std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tf.make({2}, {1, 2}));
}

// ((a + -2) * 0.1 + (b + 1) * 0.2) / 0.25 + 4, rounded: -12.2 -> -45, -0.8 -> 1, 32.7 -> 127 (bound), 1.9 -> 12.
TEST_F(QuantizedTest, Add) {
  Tensor out = tc.zeros({4});
  quantized_add_out(ctx, tc.make({4}, {-128, 0, 127, 5}), 0.1, 2, -128, 127, tc.make({4}, {3, -4, 100, 7}), 0.2, -1,
                    -128, 127, 0.25, 4, -128, 127, out);
  EXPECT_TENSOR_EQ(out, tc.make({4}, {-45, 1, 127, 12}));
}

TEST_F(QuantizedTest, BadArgumentsFail) {
  Tensor chars = tc.zeros({2, 3}), out = tf.zeros({2, 3});
  quantize_per_tensor_out(ctx, y, 1, 0, -129, 127, ScalarType::Char, chars);
  expect_failure();
  quantize_per_tensor_out(ctx, y, 1, 0, 5, 4, ScalarType::Char, chars);
  expect_failure();
  quantize_per_tensor_out(ctx, y, 1, 0, 0, 100, ScalarType::Byte, chars);
  expect_failure();
  quantize_per_tensor_out(ctx, q, 1, 0, 0, 100, ScalarType::Char, chars);
  expect_failure();
  dequantize_per_tensor_out(ctx, q, 1, 0, -128, 127, ScalarType::Byte, std::nullopt, out);
  expect_failure();
  dequantize_per_channel_out(ctx, q, tf.ones({3}), std::nullopt, 0, -128, 127, ScalarType::Char, std::nullopt, out);
  expect_failure();
  dequantize_per_channel_out(ctx, q, tf.ones({3}), std::nullopt, 2, -128, 127, ScalarType::Char, std::nullopt, out);
  expect_failure();
  dequantize_per_channel_out(ctx, q, tl.ones({2}), std::nullopt, 0, -128, 127, ScalarType::Char, std::nullopt, out);
  expect_failure();
}

TEST_F(QuantizedTest, RegisteredBeforeMain) {
  EXPECT_TRUE(executorch::runtime::registry_has_op_function("quantized_decomposed::quantize_per_tensor.out"));
  EXPECT_EQ(torch::executor::register_quantized_kernels(), Error::Ok);
}

// input @ (weight * scale), by arithmetic.
TEST_F(QuantizedTest, MixedMatmulScalesTheRowsOfTheWeight) {
  const Tensor x = tf.make({2, 3}, {1, 2, 3, -1, 0.5, 4}), weight = tc.make({3, 2}, {1, -2, 3, 4, -128, 127});
  Tensor out = tf.zeros({2, 2});
  quantized_mixed_mm_out(ctx, x, weight, tf.make({3}, {0.5, 2, 0.25}), std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 2}, {-83.5, 110.25, -125.5, 132}));
  quantized_mixed_mm_out(ctx, x, weight, tf.make({2}, {1, 1}), std::nullopt, out);
  expect_failure();
}

TEST_F(QuantizedTest, MixedLinearScalesRowsOrGroups) {
  const Tensor x = tf.make({1, 4}, {1, 2, 3, 4}), weight = tc.make({2, 4}, {1, -2, 3, 4, -128, 127, 0, 1});
  Tensor out = tf.zeros({1, 2});
  quantized_mixed_linear_out(ctx, x, weight, tf.make({2}, {0.5, 2}), std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({1, 2}, {11, 260}));
  quantized_mixed_linear_out(ctx, x, weight, tf.make({2, 2}, {1, 0.5, 2, 10}), std::nullopt, ScalarType::Float, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({1, 2}, {9.5, 292}));
  quantized_mixed_linear_out(ctx, x, weight, tf.make({2}, {0.5, 2}), std::nullopt, ScalarType::Double, out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
