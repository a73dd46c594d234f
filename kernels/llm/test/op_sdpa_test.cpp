// SPDX-License-Identifier: BSD-3-Clause
// Attention over a cache, against its definition in double.
#include <executorch/extension/llm/custom_ops/op_sdpa.h>
#include <kernels/llm/NativeFunctions.h>

#include "kernels/llm/test/attention_reference.h"
#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

using Dims = std::vector<int32_t>;

class SdpaTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  static Dims dims(const Rows& rows) {
    return {static_cast<int32_t>(rows.batch), static_cast<int32_t>(rows.positions), static_cast<int32_t>(rows.heads),
            static_cast<int32_t>(rows.width)};
  }

  template <ScalarType kType>
  static Tensor tensor(TensorFactory<kType>& factory, const Rows& rows) {
    using T = typename TensorFactory<kType>::ctype;
    return factory.make(dims(rows), std::vector<T>(rows.data.begin(), rows.data.end()));
  }

  static double difference(const Tensor& out, const std::vector<double>& expected) {
    double most = out.numel() == static_cast<ssize_t>(expected.size()) ? 0 : 1e9;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double value = out.scalar_type() == ScalarType::Float ? static_cast<double>(out.const_data_ptr<float>()[i])
                           : out.scalar_type() == ScalarType::Half
                               ? static_cast<double>(out.const_data_ptr<executorch::aten::Half>()[i])
                               : static_cast<double>(out.const_data_ptr<executorch::aten::BFloat16>()[i]);
      most = std::isnan(value) ? 1e9 : std::max(most, std::abs(value - expected[i]));
    }
    return most;
  }

  /// custom_sdpa of `queries` positions at start_pos in a cache of `positions`.
  template <ScalarType kType = ScalarType::Float>
  void check(Dims sizes, int64_t start_pos, bool is_causal, double tolerance = 2e-6) {
    const auto [batch, queries, heads, key_heads, positions, width] =
        std::tuple(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]);
    SCOPED_TRACE(::testing::Message() << "batch " << batch << ", queries " << queries << ", heads " << heads << "/"
                                      << key_heads << ", positions " << positions << ", width " << width
                                      << ", start_pos " << start_pos << (is_causal ? ", causal" : ""));
    TensorFactory<kType> factory;
    const Rows q = Rows::random(batch, queries, heads, width, 1),
               k = Rows::random(batch, positions, key_heads, width, 2),
               v = Rows::random(batch, positions, key_heads, width, 3);
    Reference reference;
    reference.start_pos = start_pos;
    reference.is_causal = is_causal;
    Tensor out = factory.zeros(dims(q));
    custom_sdpa_out(ctx, tensor(factory, q), tensor(factory, k), tensor(factory, v), start_pos, std::nullopt, 0.0,
                    is_causal, std::nullopt, out);
    ASSERT_EQ(ctx.failure_state(), Error::Ok);
    EXPECT_LE(difference(out, reference(q, k, v)), tolerance);
  }
};

TEST_F(SdpaTest, WidthsAroundVectors) {
  for (const int32_t width : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 80, 96, 128, 256, 300}) {
    for (const int32_t queries : {1, 3, 5, 17}) {
      check({1, queries, 2, 1, 40, width}, 11, true);
    }
  }
}

TEST_F(SdpaTest, QueriesAroundBlocks) {
  for (const int32_t queries : {1, 2, 3, 4, 5, 15, 16, 17, 47, 48, 49, 63, 64, 65, 97}) {
    check({1, queries, 3, 3, 130, 64}, 20, true);
    check({1, queries, 3, 1, 130, 32}, 130 - queries, true);
    check({2, queries, 2, 2, 130, 16}, 0, false);
  }
}

TEST_F(SdpaTest, KeysAroundTiles) {
  for (int32_t keys = 1; keys <= 257; keys += keys < 10 || keys % 64 > 60 || keys % 64 < 3 ? 1 : 5) {
    check({1, 1, 2, 2, 257, 16}, keys - 1, true);
    check({1, 1, 8, 1, 257, 16}, keys - 1, true);
  }
  for (const int32_t keys : {95, 96, 97, 191, 192, 193, 257}) {
    check({1, 20, 4, 2, keys, 64}, keys - 20, true);
  }
}

TEST_F(SdpaTest, HeadsOfModels) {
  check({1, 1, 32, 8, 300, 64}, 299, true);  // Llama 3.2 1B
  check({1, 33, 32, 8, 64, 64}, 31, true);
  check({1, 1, 14, 2, 300, 64}, 150, true);  // Qwen 2.5 0.5B
  check({1, 9, 16, 8, 64, 128}, 55, true);   // Qwen 3 0.6B
  check({1, 1, 4, 1, 300, 256}, 299, true);  // Gemma 3 1B
  check({1, 70, 9, 3, 128, 64}, 5, true);    // SmolLM2 135M
  check({1, 5, 32, 32, 40, 80}, 3, true);    // Phi 2
  check({1, 2, 2, 1, 30, 2048}, 3, true);    // the widest
}

// The keys are divided into several units.
TEST_F(SdpaTest, LongContextsOfFewRows) {
  for (const int32_t keys : {1023, 1024, 1025, 2049, 4096}) {
    check({1, 1, 4, 1, keys, 64}, keys - 1, true);
    check({1, 1, 7, 1, keys, 64}, keys - 1, true);
    check({1, 2, 2, 2, keys, 32}, keys - 2, true);
    check({2, 3, 2, 2, keys, 20}, keys / 2, true);
    check({1, 3, 2, 2, keys, 20}, keys / 2, false);
  }
}

TEST_F(SdpaTest, SixteenBits) {
  for (const int32_t width : {7, 16, 64, 96, 128}) {
    for (const int32_t queries : {1, 5, 50}) {
      // One rounding of a result that is at most 1.
      check<ScalarType::Half>({1, queries, 4, 2, 200, width}, 120, true, 3e-4);
      check<ScalarType::BFloat16>({2, queries, 4, 2, 200, width}, 120, true, 2.1e-3);
    }
  }
}

TEST_F(SdpaTest, Masks) {
  const Rows q = Rows::random(1, 6, 4, 24, 4), k = Rows::random(1, 50, 2, 24, 5), v = Rows::random(1, 50, 2, 24, 6);
  for (const int64_t queries : {1, 6}) {
    Rows some = Rows::random(1, queries, 4, 24, 4);
    Reference reference;
    reference.is_causal = false;
    reference.scale = 0.5;
    std::vector<float> added, hidden;
    TensorFactory<ScalarType::Bool> tb;
    for (int64_t i = 0; i < queries * 50; ++i) {
      added.push_back(static_cast<float>(i % 11) / 4.0f - 1.0f);
      hidden.push_back(i % 3 == 0 ? -kInfinity : 0.0f);
    }
    const Dims mask_dims = {static_cast<int32_t>(queries), 50};
    const auto run = [&](const Tensor& mask, const std::vector<float>& expected_mask) {
      reference.mask = expected_mask;
      Tensor out = tf.zeros(dims(some));
      custom_sdpa_out(ctx, tensor(tf, some), tensor(tf, k), tensor(tf, v), 3, mask, 0.0, false, 0.5, out);
      EXPECT_LE(difference(out, reference(some, k, v)), 1e-6);
    };
    run(tf.make(mask_dims, added), added);
    run(tf.make(mask_dims, hidden), hidden);
    TensorFactory<ScalarType::Half> th;
    TensorFactory<ScalarType::BFloat16> tbf;
    run(th.make(mask_dims, std::vector<executorch::aten::Half>(added.begin(), added.end())), added);
    run(tbf.make(mask_dims, std::vector<executorch::aten::BFloat16>(hidden.begin(), hidden.end())), hidden);
    Tensor bools = tb.zeros(mask_dims);
    std::transform(hidden.begin(), hidden.end(), bools.mutable_data_ptr<bool>(), [](float x) { return x == 0.0f; });
    run(bools, hidden);
  }
}

// As in PyTorch, a row that sees no key is zero, and NaN or infinite scores give NaN in their own rows only.
TEST_F(SdpaTest, RowsWithoutAResult) {
  for (const int32_t queries : {2, 7}) {
    Rows q = Rows::random(1, queries, 2, 16, 1);
    const Rows k = Rows::random(1, 40, 2, 16, 2), v = Rows::random(1, 40, 2, 16, 3);
    q.at(0, 0, 1)[3] = kNaN;
    std::vector<float> mask(static_cast<size_t>(queries) * 40, 0.0f);
    std::fill_n(mask.begin() + 40, 40, -kInfinity);  // of query 1
    Tensor out = tf.full(dims(q), 7.0f);
    custom_sdpa_out(ctx, tensor(tf, q), tensor(tf, k), tensor(tf, v), 0, tf.make({queries, 40}, mask), 0.0, false,
                    std::nullopt, out);
    const float* values = out.const_data_ptr<float>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t query = i / 32, head = i / 16 % 2;
      EXPECT_EQ(std::isnan(values[i]), query == 0 && head == 1) << i;
      EXPECT_EQ(values[i] == 0.0f, query == 1) << i;
    }
  }
}

TEST_F(SdpaTest, LargeScores) {
  Rows q = Rows::random(1, 8, 1, 8, 1), k = Rows::random(1, 300, 1, 8, 2);
  const Rows v = Rows::random(1, 300, 1, 8, 3);
  for (float& x : q.data) {
    x *= 200.0f;
  }
  Reference reference;
  reference.start_pos = 292;
  Tensor out = tf.zeros(dims(q));
  custom_sdpa_out(ctx, tensor(tf, q), tensor(tf, k), tensor(tf, v), 292, std::nullopt, 0.0, true, std::nullopt, out);
  EXPECT_LE(difference(out, reference(q, k, v)), 1e-4);
}

TEST_F(SdpaTest, WithCache) {
  Rows k = Rows::random(2, 20, 2, 8, 2), v = Rows::random(2, 20, 2, 8, 3);
  Tensor key_cache = tf.zeros(dims(k)), value_cache = tf.zeros(dims(v));
  for (int64_t start = 0; start < 20; start += 5) {
    const Rows q = Rows::random(2, 5, 4, 8, 9);
    Rows new_k{2, 5, 2, 8, {}}, new_v{2, 5, 2, 8, {}};
    for (int64_t b = 0; b < 2; ++b) {
      new_k.data.insert(new_k.data.end(), k.at(b, start, 0), k.at(b, start, 0) + 80);
      new_v.data.insert(new_v.data.end(), v.at(b, start, 0), v.at(b, start, 0) + 80);
    }
    Reference reference;
    reference.start_pos = start;
    Tensor out = tf.zeros(dims(q));
    sdpa_with_kv_cache_out(ctx, tensor(tf, q), tensor(tf, new_k), tensor(tf, new_v), key_cache, value_cache, start, 5,
                           std::nullopt, 0.0, true, std::nullopt, out);
    EXPECT_LE(difference(out, reference(q, k, v)), 1e-6);
  }
  EXPECT_TENSOR_EQ(key_cache, tensor(tf, k));
  EXPECT_TENSOR_EQ(value_cache, tensor(tf, v));
}

TEST_F(SdpaTest, AFullCacheIsAnErrorAndStaysAsItIs) {
  const Rows q = Rows::random(1, 3, 2, 8, 1);
  Tensor cache = tf.zeros({1, 16, 2, 8}), other = tf.zeros({1, 16, 2, 8}), out = tf.zeros(dims(q));
  for (const int64_t start : {int64_t{14}, int64_t{16}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    sdpa_with_kv_cache_out(ctx, tensor(tf, q), tensor(tf, q), tensor(tf, q), cache, other, start, 3, std::nullopt, 0.0,
                           true, std::nullopt, out);
    expect_failure();
    custom_sdpa_out(ctx, tensor(tf, q), cache, other, start, std::nullopt, 0.0, true, std::nullopt, out);
    expect_failure();
    update_cache_out(ctx, tensor(tf, q), cache, start, out);
    expect_failure();
  }
  EXPECT_TENSOR_EQ(cache, tf.zeros({1, 16, 2, 8}));
  update_cache_out(ctx, tensor(tf, q), cache, 13, out);
  EXPECT_EQ(cache.const_data_ptr<float>()[13 * 16], q.data[0]);
  EXPECT_EQ(cache.const_data_ptr<float>()[12 * 16], 0.0f);
}

TEST_F(SdpaTest, WrongArguments) {
  TensorFactory<ScalarType::Double> td;
  TensorFactory<ScalarType::Half> th;
  Tensor q = tf.zeros({1, 2, 4, 8}), k = tf.zeros({1, 9, 2, 8}), out = tf.zeros({1, 2, 4, 8});
  const auto run = [&](const Tensor& query, const Tensor& key, const Tensor& value, std::optional<Tensor> mask = {},
                       double dropout = 0, bool is_causal = false) {
    custom_sdpa_out(ctx, query, key, value, 1, mask, dropout, is_causal, std::nullopt, out);
  };
  run(td.zeros({1, 2, 4, 8}), td.zeros({1, 9, 2, 8}), td.zeros({1, 9, 2, 8}));
  expect_failure();
  run(q, th.zeros({1, 9, 2, 8}), k);
  expect_failure();
  run(q, k, tf.zeros({1, 9, 2, 4}));
  expect_failure();
  run(q, tf.zeros({1, 9, 3, 8}), tf.zeros({1, 9, 3, 8}));
  expect_failure();
  run(q, tf.zeros({2, 9, 2, 8}), tf.zeros({2, 9, 2, 8}));
  expect_failure();
  run(tf.zeros({2, 4, 8}), k, k);
  expect_failure();
  run(q, k, k, tf.zeros({2, 8}));
  expect_failure();
  run(q, k, k, tf.zeros({1, 1, 2, 9}));
  expect_failure();
  run(q, k, k, td.zeros({2, 9}));
  expect_failure();
  run(q, k, k, tf.zeros({2, 9}), 0, true);
  expect_failure();
  run(q, k, k, {}, 0.5);
  expect_failure();
  run(tf.zeros({1, 2, 1, 2049}), tf.zeros({1, 9, 1, 2049}), tf.zeros({1, 9, 1, 2049}));
  expect_failure(Error::NotSupported);
  Tensor cache = tf.zeros({1, 9, 2, 8});
  sdpa_with_kv_cache_out(ctx, q, tf.zeros({1, 2, 2, 8}), tf.zeros({1, 2, 2, 8}), cache, k, 0, 3, std::nullopt, 0, true,
                         std::nullopt, out);
  expect_failure();
  for (const Dims& wrong : {Dims{2, 2, 2, 8}, Dims{1, 2, 3, 8}, Dims{1, 2, 2, 7}, Dims{2, 2, 8}}) {
    update_cache_out(ctx, tf.zeros(wrong), cache, 0, out);
    expect_failure();
  }
  update_cache_out(ctx, th.zeros({1, 2, 2, 8}), cache, 0, out);
  expect_failure();
}

TEST_F(SdpaTest, NothingToDo) {
  Tensor out = tf.zeros({1, 0, 2, 8}), cache = tf.zeros({1, 4, 2, 8});
  custom_sdpa_out(ctx, tf.zeros({1, 0, 2, 8}), cache, cache, 4, std::nullopt, 0.0, true, std::nullopt, out);
  update_cache_out(ctx, tf.zeros({1, 0, 2, 8}), cache, 4, out);
  Tensor none = tf.zeros({1, 1, 2, 0});
  custom_sdpa_out(ctx, tf.zeros({1, 1, 2, 0}), tf.zeros({1, 4, 2, 0}), tf.zeros({1, 4, 2, 0}), 3, std::nullopt, 0.0,
                  true, std::nullopt, none);
}

TEST_F(SdpaTest, CachesOfAnyType) {
  TensorFactory<ScalarType::Char> tc;
  TensorFactory<ScalarType::Long> tl;
  Tensor out = tf.zeros({1}), chars = tc.zeros({1, 3, 1, 2}), longs = tl.zeros({2, 2, 1, 1});
  update_cache_out(ctx, tc.make({1, 2, 1, 2}, {1, 2, 3, 4}), chars, 1, out);
  EXPECT_TENSOR_EQ(chars, tc.make({1, 3, 1, 2}, {0, 0, 1, 2, 3, 4}));
  update_cache_out(ctx, tl.make({2, 1, 1, 1}, {7, 8}), longs, 1, out);
  EXPECT_TENSOR_EQ(longs, tl.make({2, 2, 1, 1}, {0, 7, 0, 8}));
}

}  // namespace
}  // namespace torch::executor::native
