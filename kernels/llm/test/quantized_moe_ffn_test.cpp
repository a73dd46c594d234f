// SPDX-License-Identifier: BSD-3-Clause
// llama::quantized_moe_ffn.out. Expected numbers follow from the definition, by hand; the Python tests compare all
// settings with random weights.
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/llm/cpu/expert_choice.h"
#include "kernels/llm/cpu/torchao_weights.h"
#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {

Tensor& quantized_moe_ffn_out(KernelRuntimeContext& ctx, const Tensor& x, const Tensor& gate_weight,
                              const Tensor& expert_bias, const Tensor& packed_w13, const Tensor& packed_w2,
                              int64_t num_activated_experts, int64_t num_experts, int64_t hidden_dim, int64_t dim,
                              int64_t group_size, int64_t weight_nbit, std::string_view score_func, double route_scale,
                              Tensor& out);

namespace {

constexpr int64_t kDim = 16;

using Weight = std::function<int(int64_t row, int64_t column)>;

class QuantizedMoeTest : public KernelTest {
 protected:
  QuantizedMoeTest() { ctx = KernelRuntimeContext(nullptr, &allocator); }

  ::executorch::extension::MallocMemoryAllocator allocator;
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Byte> tb;

  // Appends `rows` x 16 weights in one group, all of the scale 0.5.
  static void append(std::vector<uint8_t>* bytes, int32_t bits, int64_t rows, const Weight& weight) {
    const int32_t header[16] = {kTorchaoMagic, kTorchaoUniversal, bits, 0, 0, 8, 16, 2};
    const auto put = [&](const auto& number) {
      const auto* begin = reinterpret_cast<const uint8_t*>(&number);
      bytes->insert(bytes->end(), begin, begin + sizeof(number));
    };
    put(header);
    for (int64_t first = 0; first < rows; first += 8) {
      int8_t flat[128];
      for (int64_t i = 0; i < 128; ++i) {
        flat[i] = static_cast<int8_t>(weight(first + i / 8 % 8, i / 64 * 8 + i % 8));
      }
      for (int64_t i = 0; i < 128 && bits == 4; i += i % 32 == 15 ? 17 : 1) {
        bytes->push_back(static_cast<uint8_t>((flat[i] + 8) | (flat[i + 16] + 8) << 4));
      }
      if (bits == 8) {
        put(flat);
      }
      for (int i = 0; i < 8; ++i) {
        put(0.5f);
      }
      for (int i = 0; i < 8; ++i) {
        put(int32_t{0});  // the sums, which are not read
      }
    }
  }

  // Two experts: the first computes row r of the result as r / 2 * silu(x[0]) * x[9], the second its negative.
  Tensor w13(int32_t bits) {
    std::vector<uint8_t> bytes;
    for (int expert = 0; expert < 2; ++expert) {
      append(&bytes, bits, 32, [](int64_t row, int64_t column) {
        return (row == 0 && column == 0) || (row == kDim && column == 9) ? 2 : 0;
      });
    }
    return tb.make({2, static_cast<int32_t>(bytes.size() / 2)}, bytes);
  }
  Tensor w2(int32_t bits) {
    std::vector<uint8_t> bytes;
    for (const int sign : {1, -1}) {
      append(&bytes, bits, kDim,
             [&](int64_t row, int64_t column) { return column == 0 ? sign * static_cast<int>(row % 8) : 0; });
    }
    return tb.make({2, static_cast<int32_t>(bytes.size() / 2)}, bytes);
  }

  // A token with x[0] and x[9].
  static std::vector<float> token(float first, float tenth) {
    std::vector<float> x(kDim);
    x[0] = first, x[9] = tenth;
    return x;
  }
};

TEST_F(QuantizedMoeTest, OneExpertByHand) {
  for (const int32_t bits : {4, 8}) {
    std::vector<float> x = token(1, 3), other = token(-2, 5);
    x.insert(x.end(), other.begin(), other.end());
    // The scores of a token are x[0] and -x[0]: the first token has the first expert, the second token the second.
    std::vector<float> gate(2 * kDim);
    gate[0] = 1, gate[kDim] = -1;
    Tensor out = tf.full({2, kDim}, 9);
    quantized_moe_ffn_out(ctx, tf.make({2, kDim}, x), tf.make({2, kDim}, gate), tf.zeros({0}), w13(bits), w2(bits), 1,
                          2, kDim, kDim, 16, bits, "softmax", 3.0, out);
    const double silu = 1 / (1 + std::exp(-1.0)), other_silu = -2 / (1 + std::exp(2.0));
    for (int64_t row = 0; row < kDim; ++row) {
      const double factor = 0.5 * static_cast<double>(row % 8);
      EXPECT_NEAR(out.const_data_ptr<float>()[row], factor * silu * 3, 1e-5) << bits << " bits, row " << row;
      EXPECT_NEAR(out.const_data_ptr<float>()[kDim + row], -factor * other_silu * 5, 1e-5) << "row " << row;
    }
  }
}

TEST_F(QuantizedMoeTest, SigmoidsAreDividedByTheirSum) {
  std::vector<float> gate(2 * kDim);
  gate[0] = 1;
  Tensor out = tf.zeros({1, kDim});
  quantized_moe_ffn_out(ctx, tf.make({1, kDim}, token(1, 2)), tf.make({2, kDim}, gate), tf.make({2}, {0, 5}), w13(8),
                        w2(8), 2, 2, kDim, kDim, 16, 8, "sigmoid", 3.0, out);
  const double silu = 1 / (1 + std::exp(-1.0)), first = silu, second = 0.5;
  EXPECT_NEAR(out.const_data_ptr<float>()[3], 3 * (first - second) / (first + second) * 1.5 * silu * 2, 1e-5);
}

TEST_F(QuantizedMoeTest, WrongArgumentsLeaveTheResult) {
  const Tensor x = tf.ones({1, kDim}), gate = tf.ones({2, kDim}), bias = tf.zeros({0});
  const Tensor up = w13(8), down = w2(8);
  Tensor out = tf.full({1, kDim}, 7);
  const auto call = [&](const Tensor& in, const Tensor& gates, const Tensor& shift, const Tensor& first,
                        const Tensor& second, int64_t chosen, int64_t hidden, int64_t group, int64_t bits,
                        std::string_view score) {
    quantized_moe_ffn_out(ctx, in, gates, shift, first, second, chosen, 2, hidden, kDim, group, bits, score, 1.0, out);
    expect_failure();
    EXPECT_TENSOR_EQ(out, tf.full({1, kDim}, 7));
  };
  call(tf.ones({kDim}), gate, bias, up, down, 1, kDim, 16, 8, "sigmoid");
  call(x, tf.ones({1, kDim}), bias, up, down, 1, kDim, 16, 8, "sigmoid");
  call(x, gate, tf.ones({3}), up, down, 1, kDim, 16, 8, "sigmoid");
  call(x, gate, bias, tb.ones({2, 63}), down, 1, kDim, 16, 8, "sigmoid");
  call(x, gate, bias, tb.ones({2, 700}), down, 1, kDim, 16, 8, "sigmoid");
  call(x, gate, bias, up, up, 3, kDim, 16, 8, "sigmoid");
  call(x, gate, bias, up, down, 1, 2 * kDim, 16, 8, "sigmoid");  // more rows than there are bytes
  call(x, gate, bias, up, down, 1, kDim, 8, 8, "sigmoid");
  call(x, gate, bias, up, down, 1, kDim, 16, 4, "sigmoid");
  call(x, gate, bias, up, down, 1, kDim, 16, 8, "softmax_all");
  call(x, gate, tf.ones({2}), up, down, 1, kDim, 16, 8, "softmax");
}

// The weights are read again after a part of the result has been written.
TEST_F(QuantizedMoeTest, ArgumentsThatShareMemoryWithTheResult) {
  Tensor x = tf.ones({1, kDim}), gate = tf.ones({2, kDim}), bias = tf.zeros({2}), up = w13(8), down = w2(8);
  Tensor out = tf.full({1, kDim}, 7);
  void* const own = out.mutable_data_ptr();
  const auto call = [&] {
    ctx = KernelRuntimeContext(nullptr, &allocator);
    quantized_moe_ffn_out(ctx, x, gate, bias, up, down, 1, 2, kDim, kDim, 16, 8, "sigmoid", 1.0, out);
  };
  for (Tensor* argument : {&x, &gate, &up, &down}) {
    const auto* bytes = static_cast<const uint8_t*>(argument->const_data_ptr());
    const std::vector<uint8_t> before(bytes, bytes + argument->nbytes());
    out.set_data(argument->mutable_data_ptr());
    call();
    expect_failure();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), bytes));
  }
  out.set_data(own);
  bias.set_data(own);
  call();
  expect_failure();
  EXPECT_TENSOR_EQ(out, tf.full({1, kDim}, 7));
}

// Takes hours if the time to choose grows with the cube of the number of experts.
TEST_F(QuantizedMoeTest, ManyExperts) {
  constexpr int32_t kExperts = 16384;
  std::vector<uint8_t> up, down;
  for (int32_t e = 0; e < kExperts; ++e) {
    append(&up, 4, 2 * kDim, [](int64_t row, int64_t column) {
      return (row == 0 && column == 0) || (row == kDim && column == 9) ? 2 : 0;
    });
    append(&down, 4, kDim, [&](int64_t row, int64_t column) {
      return column == 0 && e % 4 == 3 ? static_cast<int>(row % 8) : 0;  // every fourth expert adds something
    });
  }
  Tensor out = tf.zeros({1, kDim});
  quantized_moe_ffn_out(ctx, tf.make({1, kDim}, token(1, 3)), tf.zeros({kExperts, kDim}), tf.zeros({0}),
                        tb.make({kExperts, static_cast<int32_t>(up.size() / kExperts)}, up),
                        tb.make({kExperts, static_cast<int32_t>(down.size() / kExperts)}, down), kExperts, kExperts,
                        kDim, kDim, 16, 4, "sigmoid", 8.0, out);
  const double silu = 1 / (1 + std::exp(-1.0));
  for (int64_t row = 0; row < kDim; ++row) {
    // All weights are 8 / kExperts.
    EXPECT_NEAR(out.const_data_ptr<float>()[row], 8.0 / 4 * 0.5 * static_cast<double>(row % 8) * silu * 3, 1e-2) << row;
  }
}

// Sizes that 32 bits do not hold are not those of a small block. 2 * 32768 * 16384 floats alone have 2^32 bytes.
TEST(ExpertMemoryTest, SizesDoNotWrap) {
  const auto fits = [](const ExpertSizes& sizes, uint64_t bytes) { return expert_memory(sizes).at_most(bytes); };
  const ExpertSizes small{3, 5, 2, 7, 16};  // 6 choices and 5 ranks of 8 bytes, 5 + 42 floats
  EXPECT_TRUE(fits(small, 276));
  EXPECT_FALSE(fits(small, 275));
  EXPECT_FALSE(fits({32768, 2, 1, 16384, 16}, UINT32_MAX));
  EXPECT_FALSE(fits({1 << 18, 1 << 11, 1 << 11, 16, 16}, UINT32_MAX));  // 2^29 choices
  EXPECT_FALSE(expert_memory({INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 16}).good());
}

std::vector<int32_t> chosen(std::vector<float> scores, int64_t count, const std::vector<float>& bias = {}) {
  const ExpertSizes sizes{1, static_cast<int64_t>(scores.size()), count, 16, 16};
  std::vector<ExpertChoice> ranked(scores.size()), choices(static_cast<size_t>(count));
  choose_experts(sizes, bias.empty() ? nullptr : bias.data(), !bias.empty(), 1, scores.data(), ranked.data(),
                 choices.data());
  std::vector<int32_t> experts;
  for (const ExpertChoice& choice : choices) {
    experts.push_back(choice.expert);
    EXPECT_EQ(find_choice(sizes, choices.data(), choice.expert), &choice);
  }
  EXPECT_EQ(find_choice(sizes, choices.data(), sizes.experts), nullptr);
  return experts;
}

TEST(ExpertChoiceTest, LargestRanksAndTheFirstOfEquals) {
  EXPECT_EQ(chosen({1, 3, 3, 2, 3}, 2), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(chosen({1, 3, 3, 2, 3}, 4), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(chosen({-kInfinity, 1, -kInfinity}, 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(chosen({9, 8, 0}, 1, {0, 0, 2}), (std::vector<int32_t>{2}));  // the bias counts
  // torch.topk has NaN before all numbers.
  EXPECT_EQ(chosen({5, kNaN, 7, kNaN}, 1), (std::vector<int32_t>{1}));
  EXPECT_EQ(chosen({5, kInfinity, 7, kNaN}, 2), (std::vector<int32_t>{1, 3}));
  std::vector<float> scores = sample_values(300);
  std::vector<int32_t> wanted(scores.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::stable_sort(wanted.begin(), wanted.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  wanted.resize(40);
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(chosen(scores, 40), wanted);
}

}  // namespace
}  // namespace torch::executor::native
