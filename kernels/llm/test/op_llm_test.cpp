// SPDX-License-Identifier: BSD-3-Clause
// Caches by indices, int8 caches and the Hadamard transform of SpinQuant. Expected numbers are from
// PyTorch eager and from the definitions.
#include <executorch/extension/llm/custom_ops/op_fallback.h>
#include <executorch/extension/llm/custom_ops/op_fast_hadamard_transform.h>
#include <executorch/extension/llm/custom_ops/op_update_cache.h>
#include <kernels/llm/NativeFunctions.h>

#include "kernels/llm/test/attention_reference.h"
#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

class LlmTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
};

TEST_F(LlmTest, UpdateCacheWithIndices) {
  Tensor cache = tf.zeros({2, 8, 1, 1}), out = tf.zeros({1});
  const Tensor value = tf.make({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  // If several indices are equal, the cache gets the last of their rows.
  update_cache_with_indices_out(ctx, value, cache, 2, tl.make({2, 3}, {0, 5, 7, 3, 3, 4}), out);
  const Tensor expected = tf.make({2, 8, 1, 1}, {1, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 5, 6, 0, 0, 0});
  EXPECT_TENSOR_EQ(cache, expected);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{0, 8, 7, 3, 3, 4}, {0, -1, 7, 3, 3, 4}}) {
    update_cache_with_indices_out(ctx, value, cache, 0, tl.make({2, 3}, wrong), out);
    expect_failure();
  }
  update_cache_with_indices_out(ctx, value, cache, 0, tl.make({1, 3}, {0, 1, 2}), out);
  expect_failure();
  update_cache_with_indices_out(ctx, value, cache, 0, tl.make({6}, {0, 1, 2, 0, 1, 2}), out);
  expect_failure();
  TensorFactory<ScalarType::Int> ti;
  update_cache_with_indices_out(ctx, value, cache, 0, ti.make({2, 3}, {0, 1, 2, 0, 1, 2}), out);
  expect_failure();
  update_cache_with_indices_out(ctx, value, cache, -1, tl.make({2, 3}, {0, 1, 2, 0, 1, 2}), out);
  expect_failure();
  EXPECT_TENSOR_EQ(cache, expected);
}

TEST_F(LlmTest, Fallback) {
  TensorFactory<ScalarType::Half> th;
  Tensor out = tf.zeros({2, 2}), none = tf.zeros({0});
  fallback_out(ctx, tf.make({2, 2}, {1, 2, 3, 4}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 2}, {1, 2, 3, 4}));
  fallback_out(ctx, tf.zeros({0}), none);
  fallback_out(ctx, th.zeros({2, 2}), out);
  expect_failure();
}

class QuantizedSdpaTest : public LlmTest {
 protected:
  TensorFactory<ScalarType::Char> tc;

  struct Quantized {
    std::vector<int8_t> values, zeros;
    std::vector<float> scales;
    Rows rows;  // the dequantised values
  };

  static Quantized quantized(int64_t positions, int64_t heads, int64_t width, uint32_t seed) {
    const Rows numbers = Rows::random(1, positions, heads, width, seed);
    Quantized q;
    q.rows = numbers;
    for (int64_t r = 0; r < positions * heads; ++r) {
      q.scales.push_back(0.01f + 0.001f * static_cast<float>(r % 7));
      q.zeros.push_back(static_cast<int8_t>(r % 19 - 9));
      for (int64_t i = r * width; i < (r + 1) * width; ++i) {
        const float level = std::round(numbers.data[static_cast<size_t>(i)] * 127.0f);
        q.values.push_back(static_cast<int8_t>(level));
        q.rows.data[static_cast<size_t>(i)] = (level - static_cast<float>(q.zeros.back())) * q.scales.back();
      }
    }
    return q;
  }

  // (positions, heads, size) as (heads, positions, size).
  template <typename T>
  static std::vector<T> swapped(const std::vector<T>& data, int64_t positions, int64_t heads) {
    std::vector<T> out;
    const int64_t size = static_cast<int64_t>(data.size()) / (positions * heads);
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t p = 0; p < positions; ++p) {
        const auto from = data.begin() + (p * heads + h) * size;
        out.insert(out.end(), from, from + size);
      }
    }
    return out;
  }

  void check(int64_t queries, int64_t heads, int64_t key_heads, int64_t positions, int64_t width, int64_t start,
             bool seq_at_2) {
    SCOPED_TRACE(::testing::Message() << queries << " queries, " << positions << " positions, width " << width);
    const Quantized q = quantized(queries, heads, width, 1), k = quantized(positions, key_heads, width, 2),
                    v = quantized(positions, key_heads, width, 3);
    const auto tensors = [&](const Quantized& x) {
      const int64_t p = x.rows.positions, h = x.rows.heads;
      std::vector<int32_t> dims = {1, static_cast<int32_t>(seq_at_2 ? h : p), static_cast<int32_t>(seq_at_2 ? p : h),
                                   static_cast<int32_t>(width)};
      const std::vector<int32_t> one = {dims[0], dims[1], dims[2], 1};
      return std::tuple(tc.make(dims, seq_at_2 ? swapped(x.values, p, h) : x.values),
                        tc.make(one, seq_at_2 ? swapped(x.zeros, p, h) : x.zeros),
                        tf.make(one, seq_at_2 ? swapped(x.scales, p, h) : x.scales));
    };
    const auto [tq, zq, sq] = tensors(q);
    const auto [tk, zk, sk] = tensors(k);
    const auto [tv, zv, sv] = tensors(v);
    const std::vector<int32_t> sizes(tq.sizes().begin(), tq.sizes().end());
    Tensor out = tf.zeros(sizes), of_floats = tf.zeros(sizes);
    custom_quantized_sdpa_out(ctx, tq, tk, tv, start, std::nullopt, 0.0, true, std::nullopt, zq, sq, zk, sk, zv, sv,
                              seq_at_2, out);
    custom_quantized_sdpa_out(ctx, tf.make(sizes, seq_at_2 ? swapped(q.rows.data, queries, heads) : q.rows.data), tk,
                              tv, start, std::nullopt, 0.0, true, std::nullopt, std::nullopt, std::nullopt, zk, sk, zv,
                              sv, seq_at_2, of_floats);
    Reference reference;
    reference.start_pos = start;
    std::vector<double> expected = reference(q.rows, k.rows, v.rows);
    expected = seq_at_2 ? swapped(expected, queries, heads) : expected;
    ASSERT_EQ(out.numel(), static_cast<ssize_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out.const_data_ptr<float>()[i]), expected[i], 5e-6) << i;
      ASSERT_NEAR(static_cast<double>(of_floats.const_data_ptr<float>()[i]), expected[i], 5e-6) << i;
    }
  }
};

TEST_F(QuantizedSdpaTest, EqualsThatOfTheFloats) {
  for (const bool seq_at_2 : {false, true}) {
    for (const int64_t width : {1, 7, 16, 64, 80, 128}) {
      check(1, 4, 2, 100, width, 99, seq_at_2);
      check(19, 4, 1, 100, width, 30, seq_at_2);
    }
    check(1, 8, 2, 2100, 64, 2099, seq_at_2);
  }
}

TEST_F(QuantizedSdpaTest, WrongArguments) {
  const Tensor q = tc.zeros({1, 2, 4, 8}), k = tc.zeros({1, 9, 2, 8});
  const Tensor zq = tc.zeros({1, 2, 4, 1}), sq = tf.ones({1, 2, 4, 1}), zk = tc.zeros({1, 9, 2, 1}),
               sk = tf.ones({1, 9, 2, 1});
  Tensor out = tf.zeros({1, 2, 4, 8});
  const auto run = [&](const Tensor& query, std::optional<Tensor> zeros, std::optional<Tensor> scales, int64_t start) {
    custom_quantized_sdpa_out(ctx, query, k, k, start, std::nullopt, 0.0, true, std::nullopt, zq, sq, zeros, scales, zk,
                              sk, false, out);
  };
  run(q, std::nullopt, sk, 0);
  expect_failure();
  run(q, zk, std::nullopt, 0);
  expect_failure();
  run(q, zk, sq, 0);
  expect_failure();
  run(q, sk, sk, 0);
  expect_failure();
  run(q, zk, sk, 8);
  expect_failure();
  TensorFactory<ScalarType::Half> th;
  run(th.zeros({1, 2, 4, 8}), zk, sk, 0);
  expect_failure();
}

// Element (i, j) of Sylvester's matrix: -1 to the power of the number of bits that are set in both i and j.
double sylvester(int64_t i, int64_t j) {
  return __builtin_parityll(static_cast<unsigned long long>(i & j)) != 0 ? -1.0 : 1.0;
}

TEST_F(LlmTest, HadamardOfPowersOfTwo) {
  for (const int32_t n : {1, 2, 4, 8, 32, 64, 128, 256, 1024}) {
    const Rows x = Rows::random(1, 3, 1, n, 7);
    Tensor out = tf.zeros({3, n});
    fast_hadamard_transform_out(ctx, tf.make({3, n}, x.data), out);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          sum += sylvester(i, j) * static_cast<double>(x.data[static_cast<size_t>(r * n + j)]);
        }
        ASSERT_NEAR(static_cast<double>(out.const_data_ptr<float>()[r * n + i]), sum / std::sqrt(n), 1e-5) << n;
      }
    }
  }
}

// A row x becomes (W28 (x) H) x / sqrt(2^k), with H Sylvester's matrix. W28 W28^T = 28 I.
TEST_F(LlmTest, HadamardOfTwentyEightTimesPowersOfTwo) {
  for (const int32_t n : {28, 56, 448, 28 * 128}) {
    Tensor identity = tf.zeros({28, n}), out = tf.zeros({28, n});
    for (int32_t r = 0; r < 28; ++r) {
      identity.mutable_data_ptr<float>()[r * n + r * (n / 28)] = 1.0f;
    }
    fast_hadamard_transform_out(ctx, identity, out);
    const float* rows = out.const_data_ptr<float>();
    for (int32_t a = 0; a < 28; ++a) {
      for (int32_t b = 0; b < 28; ++b) {
        double product = 0;
        for (int32_t i = 0; i < n; ++i) {
          product += static_cast<double>(rows[a * n + i] * rows[b * n + i]);
        }
        ASSERT_NEAR(product, a == b ? 28.0 : 0.0, 1e-3) << n;
      }
    }
  }
  // The first column of W28, as ExecuTorch has it.
  Tensor unit = tf.zeros({28}), column = tf.zeros({28});
  unit.mutable_data_ptr<float>()[0] = 1.0f;
  fast_hadamard_transform_out(ctx, unit, column);
  EXPECT_TENSOR_EQ(column, tf.make({28}, {1,  -1, -1, -1, -1, -1, -1, -1, -1, 1, 1,  1,  1, -1,
                                          -1, 1,  -1, 1,  1,  -1, 1,  -1, 1,  1, -1, -1, 1, 1}));
}

TEST_F(LlmTest, HadamardOfOtherTypes) {
  TensorFactory<ScalarType::Half> th;
  TensorFactory<ScalarType::BFloat16> tbf;
  TensorFactory<ScalarType::Double> td;
  Tensor h = th.zeros({4}), b = tbf.zeros({2, 2}), d = td.zeros({4}), none = tf.zeros({2, 0});
  fast_hadamard_transform_out(ctx, th.make({4}, {1, 2, 3, 4}), h);
  EXPECT_TENSOR_EQ(h, th.make({4}, {5, -1, -2, 0}));
  fast_hadamard_transform_out(ctx, tbf.make({2, 2}, {1, 1, 0, 0}), b);
  EXPECT_TENSOR_EQ(b, tbf.make({2, 2}, {1.4140625, 0, 0, 0}));
  fast_hadamard_transform_out(ctx, td.make({4}, {1, 2, 3, 4}), d);
  EXPECT_TENSOR_EQ(d, td.make({4}, {5, -1, -2, 0}));
  fast_hadamard_transform_out(ctx, tf.zeros({2, 0}), none);
  TensorFactory<ScalarType::Int> ti;
  Tensor ints = ti.zeros({4}), odd = tf.zeros({12});
  fast_hadamard_transform_out(ctx, ti.zeros({4}), ints);
  expect_failure();
  fast_hadamard_transform_out(ctx, tf.zeros({12}), odd);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
