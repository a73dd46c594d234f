// SPDX-License-Identifier: BSD-3-Clause
// llama::gated_delta_rule.out and its older name. Expected numbers follow from the definition, by hand or in double.
#include <executorch/extension/llm/custom_ops/op_sdpa.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

class GatedDeltaTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  Tensor random(const std::vector<int32_t>& sizes, float low, float high, uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> numbers(low, high);
    size_t count = 1;
    for (const int32_t size : sizes) {
      count *= static_cast<size_t>(size);
    }
    std::vector<float> data(count);
    for (float& x : data) {
      x = numbers(generator);
    }
    return tf.make(sizes, data);
  }

  // The definition, in double: one head of queries of one batch after the other.
  static void expect_definition(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay,
                                const Tensor& beta, const Tensor& initial, const Tensor& out, const Tensor& state) {
    const size_t heads = static_cast<size_t>(q.size(0) * q.size(1)), positions = static_cast<size_t>(q.size(2));
    const size_t keys = static_cast<size_t>(q.size(3)), values = static_cast<size_t>(v.size(3));
    const size_t groups = static_cast<size_t>(q.size(1) / k.size(1));
    const bool scalar_decay = decay.dim() == 3;
    const auto data = [](const Tensor& x) { return x.const_data_ptr<float>(); };
    for (size_t h = 0; h < heads; ++h) {
      const size_t of = h / groups;  // the state that this head of queries reads
      for (size_t j = 0; j < values; ++j) {
        std::vector<double> s(keys);
        for (size_t i = 0; i < keys; ++i) {
          s[i] = data(initial)[(of * keys + i) * values + j];
        }
        for (size_t t = 0; t < positions; ++t) {
          const size_t row = of * positions + t, query = h * positions + t;
          double predicted = 0, result = 0;
          for (size_t i = 0; i < keys; ++i) {
            s[i] *= data(decay)[scalar_decay ? row : row * keys + i];
            predicted += s[i] * data(k)[row * keys + i];
          }
          const double delta = (data(v)[row * values + j] - predicted) * data(beta)[row];
          for (size_t i = 0; i < keys; ++i) {
            s[i] += data(k)[row * keys + i] * delta;
            result += s[i] * data(q)[query * keys + i];
          }
          ASSERT_NEAR(data(out)[query * values + j], result, 1e-5) << "head " << h << ", position " << t;
        }
        for (size_t i = 0; i < keys; ++i) {
          ASSERT_NEAR(data(state)[(of * keys + i) * values + j], s[i], 1e-5) << "head " << h << ", key " << i;
        }
      }
    }
  }
};

TEST_F(GatedDeltaTest, TwoPositionsByHand) {
  const Tensor q = tf.make({1, 1, 2, 2}, {1, 0, 1, 1}), k = tf.make({1, 1, 2, 2}, {1, 0, 0, 1});
  const Tensor v = tf.make({1, 1, 2, 1}, {4, 10}), decay = tf.make({1, 1, 2, 2}, {0.5, 1, 1, 0});
  const Tensor beta = tf.make({1, 1, 2}, {0.5, 1}), initial = tf.make({1, 1, 2, 1}, {2, 3});
  Tensor out = tf.zeros({1, 1, 2, 1}), state = tf.zeros({1, 1, 2, 1});
  channelwise_gated_delta_rule_out(ctx, q, k, v, decay, beta, initial, out, state);
  // First: (1, 3), predicts 1, adds (4 - 1) / 2: (2.5, 3). Second: (2.5, 0), predicts 0, adds 10: (2.5, 10).
  EXPECT_TENSOR_EQ(out, tf.make({1, 1, 2, 1}, {2.5, 12.5}));
  EXPECT_TENSOR_EQ(state, tf.make({1, 1, 2, 1}, {2.5, 10}));
  EXPECT_TENSOR_EQ(initial, tf.make({1, 1, 2, 1}, {2, 3}));
}

TEST_F(GatedDeltaTest, HeadsShareAStateByHand) {
  const Tensor q = tf.make({1, 2, 1, 2}, {1, 0, 0, 1}), k = tf.make({1, 1, 1, 2}, {1, 0});
  const Tensor v = tf.make({1, 1, 1, 1}, {4}), decay = tf.make({1, 1, 1}, {0.5}), beta = tf.make({1, 1, 1}, {0.5});
  Tensor out = tf.zeros({1, 2, 1, 1}), state = tf.zeros({1, 1, 2, 1});
  gated_delta_rule_out(ctx, q, k, v, decay, beta, tf.make({1, 1, 2, 1}, {2, 3}), out, state);
  // (1, 1.5), predicts 1, adds (4 - 1) / 2 to the first row.
  EXPECT_TENSOR_EQ(out, tf.make({1, 2, 1, 1}, {2.5, 1.5}));
  EXPECT_TENSOR_EQ(state, tf.make({1, 1, 2, 1}, {2.5, 1.5}));
}

TEST_F(GatedDeltaTest, SizesOfModels) {
  struct Case {
    int32_t batch, heads, positions, keys, values, groups = 1;
    bool scalar_decay = false;
  };
  for (const Case& c : {Case{2, 3, 4, 5, 6}, Case{1, 4, 7, 8, 3}, Case{1, 2, 9, 16, 32}, Case{2, 1, 1, 128, 128},
                        Case{1, 1, 3, 64, 70}, Case{1, 2, 5, 1, 33}, Case{2, 2, 5, 6, 40, 2, true},
                        Case{1, 3, 4, 5, 6, 1, true}, Case{1, 1, 1, 16, 70, 4}, Case{2, 2, 3, 1, 5, 3}}) {
    SCOPED_TRACE(::testing::Message() << c.positions << " positions, " << c.keys << " keys, " << c.values << " values");
    const int32_t queries = c.heads * c.groups;
    const Tensor q = random({c.batch, queries, c.positions, c.keys}, -0.3f, 0.3f, 1);
    const Tensor k = random({c.batch, c.heads, c.positions, c.keys}, -0.3f, 0.3f, 2);
    const Tensor v = random({c.batch, c.heads, c.positions, c.values}, -1, 1, 3);
    std::vector<int32_t> decays{c.batch, c.heads, c.positions};
    if (!c.scalar_decay) {
      decays.push_back(c.keys);
    }
    const Tensor decay = random(decays, -0.1f, 1, 4);
    const Tensor beta = random({c.batch, c.heads, c.positions}, 0, 1, 5);
    const Tensor initial = random({c.batch, c.heads, c.keys, c.values}, -1, 1, 6);
    for (const auto kernel : {gated_delta_rule_out, channelwise_gated_delta_rule_out}) {
      Tensor out = tf.full({c.batch, queries, c.positions, c.values}, 9);
      Tensor state = tf.full({c.batch, c.heads, c.keys, c.values}, 9);
      kernel(ctx, q, k, v, decay, beta, initial, out, state);
      expect_definition(q, k, v, decay, beta, initial, out, state);
    }
  }
}

TEST_F(GatedDeltaTest, NoPositionsKeysOrHeads) {
  const Tensor initial = tf.make({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor rows = tf.zeros({1, 1, 0, 2}), betas = tf.zeros({1, 1, 0});
  Tensor out = tf.zeros({1, 1, 0, 2}), state = tf.zeros({1, 1, 2, 2});
  gated_delta_rule_out(ctx, rows, rows, rows, rows, betas, initial, out, state);
  EXPECT_TENSOR_EQ(state, initial);
  const Tensor no_keys = tf.zeros({1, 1, 1, 0}), value = tf.ones({1, 1, 1, 2}), beta = tf.ones({1, 1, 1});
  Tensor one = tf.ones({1, 1, 1, 2}), empty = tf.zeros({1, 1, 0, 2});
  gated_delta_rule_out(ctx, no_keys, no_keys, value, no_keys, beta, tf.zeros({1, 1, 0, 2}), one, empty);
  EXPECT_TENSOR_EQ(one, tf.zeros({1, 1, 1, 2}));
  // More values than are computed together: the second part would begin past the end of an empty tensor.
  const Tensor wide = random({1, 1, 2, 40}, -1, 1, 1);
  Tensor wide_out = tf.zeros({1, 1, 0, 40}), wide_state = tf.zeros({1, 1, 2, 40});
  gated_delta_rule_out(ctx, rows, rows, tf.zeros({1, 1, 0, 40}), rows, betas, wide, wide_out, wide_state);
  EXPECT_TENSOR_EQ(wide_state, wide);
  Tensor wide_one = tf.ones({1, 1, 1, 40}), wide_empty = tf.zeros({1, 1, 0, 40});
  gated_delta_rule_out(ctx, no_keys, no_keys, tf.ones({1, 1, 1, 40}), no_keys, beta, tf.zeros({1, 1, 0, 40}), wide_one,
                       wide_empty);
  EXPECT_TENSOR_EQ(wide_one, tf.zeros({1, 1, 1, 40}));
  const Tensor none = tf.zeros({1, 0, 1, 2});
  Tensor no_out = tf.zeros({1, 0, 1, 2}), no_state = tf.zeros({1, 0, 2, 2});
  gated_delta_rule_out(ctx, none, none, none, none, tf.zeros({1, 0, 1}), tf.zeros({1, 0, 2, 2}), no_out, no_state);
}

TEST_F(GatedDeltaTest, WrongArgumentsLeaveTheResults) {
  TensorFactory<ScalarType::Double> td;
  const Tensor keys = tf.ones({1, 1, 2, 3}), values = tf.ones({1, 1, 2, 4}), betas = tf.ones({1, 1, 2});
  const Tensor initial = tf.ones({1, 1, 3, 4});
  Tensor out = tf.full({1, 1, 2, 4}, 7), state = tf.full({1, 1, 3, 4}, 7);
  const auto call = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay, const Tensor& beta,
                        const Tensor& from, Tensor& to) {
    gated_delta_rule_out(ctx, q, k, v, decay, beta, from, out, to);
    expect_failure();
    EXPECT_TENSOR_EQ(out, tf.full({1, 1, 2, 4}, 7));
    EXPECT_TENSOR_EQ(state, tf.full({1, 1, 3, 4}, 7));
  };
  call(tf.ones({1, 2, 3}), keys, values, keys, betas, initial, state);
  call(keys, tf.ones({1, 1, 2, 2}), values, keys, betas, initial, state);
  call(keys, keys, tf.ones({1, 1, 1, 4}), keys, betas, initial, state);
  call(keys, keys, values, tf.ones({1, 2, 1, 3}), betas, initial, state);
  call(keys, keys, values, keys, tf.ones({1, 1, 2, 1}), initial, state);
  call(keys, keys, values, keys, betas, tf.ones({1, 1, 4, 3}), state);
  call(keys, keys, values, keys, betas, td.ones({1, 1, 3, 4}), state);
  call(td.ones({1, 1, 2, 3}), keys, values, keys, betas, initial, state);
  call(keys, keys, values, tf.ones({1, 1, 1}), betas, initial, state);
  // Refused: 3 heads of queries for 2 states, 1 head for 2 states, 0 heads for 2 states, 1 head for 0 states.
  const Tensor two = tf.ones({1, 2, 2, 3}), two_values = tf.ones({1, 2, 2, 4});
  const Tensor two_betas = tf.ones({1, 2, 2}), two_states = tf.ones({1, 2, 3, 4});
  call(tf.ones({1, 3, 2, 3}), two, two_values, two, two_betas, two_states, state);
  call(keys, two, two_values, two, two_betas, two_states, state);
  call(tf.ones({1, 0, 2, 3}), two, two_values, two, two_betas, two_states, state);
  call(keys, tf.ones({1, 0, 2, 3}), tf.ones({1, 0, 2, 4}), tf.ones({1, 0, 2}), tf.ones({1, 0, 2}),
       tf.ones({1, 0, 3, 4}), state);
  Tensor same = initial;
  call(keys, keys, values, keys, betas, initial, same);
  EXPECT_TENSOR_EQ(initial, tf.ones({1, 1, 3, 4}));
}

}  // namespace
}  // namespace torch::executor::native
