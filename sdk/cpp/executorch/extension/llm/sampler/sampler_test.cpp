// SPDX-License-Identifier: BSD-3-Clause
// Distributions are compared with softmax in tests/python/llm; this file tests what only C++ can observe.
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/extension/llm/sampler/token_sampler.h>
#include <executorch/extension/llm/sampler/util.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::ScalarType;
using executorch::extension::make_tensor_ptr;
using executorch::extension::llm::LogitProcessor;
using executorch::extension::llm::logits_to_token;
using executorch::extension::llm::Sampler;
using executorch::extension::llm::SamplingOptions;
using executorch::extension::llm::TokenSampler;
using executorch::runtime::Error;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// The tokens that a sampler gives in many draws.
std::set<int32_t> drawn(Sampler& sampler, std::vector<float> logits, int draws = 2000) {
  std::set<int32_t> found;
  for (int i = 0; i < draws; i++) {
    found.insert(sampler.sample(logits.data()));
  }
  return found;
}

class SamplerTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(SamplerTest, TakesTheLikeliestAtTemperatureZero) {
  Sampler sampler(4, 0.0f);
  float logits[] = {-1, 3, 3, -kInf};
  EXPECT_EQ(sampler.sample(logits), 1);  // the first of two alike
  Half half[] = {Half(1.0f), Half(5.0f), Half(-2.0f), Half(0.0f)};
  EXPECT_EQ(sampler.sample(half), 1);
  BFloat16 bfloat[] = {BFloat16(1.0f), BFloat16(-5.0f), BFloat16(0.5f), BFloat16(7.0f)};
  EXPECT_EQ(sampler.sample(bfloat), 3);
}

TEST_F(SamplerTest, RefusesWhatIsNoDistribution) {
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler(3, temperature);
    for (std::vector<float> logits : {std::vector<float>{kNaN, 1, 2}, {1, 2, kNaN}, {-kInf, -kInf, -kInf}}) {
      EXPECT_EQ(sampler.sample(logits.data()), -1);
    }
    std::vector<float> infinite{0, kInf, 100};
    EXPECT_EQ(sampler.sample(infinite.data()), 1);
  }
}

TEST_F(SamplerTest, TemperaturesAreZeroOrMore) {
  const auto logits = make_tensor_ptr({1, 3}, std::vector<float>{0, 0.5f, 1});
  TokenSampler tokens;
  for (const float temperature : {-0.1f, -1.0f, -kInf, kNaN}) {
    EXPECT_EQ(logits_to_token(*logits, temperature), -1) << temperature;
    tokens.set_temperature(temperature);
    EXPECT_EQ(tokens.sample(*logits).error(), Error::InvalidArgument) << temperature;
  }
  // A temperature above 1: the probabilities are softmax([0, 1, 2] / 1.1); the last one is 0.64.
  for (const float temperature : {0.0f, 1.1f}) {
    Sampler sampler(3, temperature, 1.0f, 5);
    int last = 0;
    for (int i = 0; i < 4000; i++) {
      last += sampler.sample(std::vector<float>{0, 1, 2}.data()) == 2;
    }
    const double expected = temperature == 0 ? 1 : 1 / (1 + std::exp(-1 / 1.1) + std::exp(-2 / 1.1));
    EXPECT_NEAR(last / 4000.0, expected, temperature == 0 ? 0 : 0.04);  // five standard deviations
  }
}

TEST_F(SamplerTest, LogitsStayAsTheyAre) {
  Sampler sampler(3, 0.7f, 0.5f, 1);
  std::vector<float> logits{1, 2, 3};
  sampler.sample(logits.data());
  EXPECT_EQ(logits, (std::vector<float>{1, 2, 3}));
}

TEST_F(SamplerTest, FiltersKeepWhatTheySay) {
  // Probabilities at temperature 1: 0.5, 0.25, 0.15, 0.1.
  const std::vector<float> logits{std::log(0.1f), std::log(0.5f), std::log(0.15f), std::log(0.25f)};
  Sampler all(4, 1.0f, 1.0f, 3);
  EXPECT_EQ(drawn(all, logits), (std::set<int32_t>{0, 1, 2, 3}));
  Sampler top_k(4, 1.0f, 1.0f, 3);
  top_k.set_topk(2);
  EXPECT_EQ(drawn(top_k, logits), (std::set<int32_t>{1, 3}));
  Sampler top_p(4, 1.0f, 0.76f, 3);
  EXPECT_EQ(drawn(top_p, logits), (std::set<int32_t>{1, 2, 3}));
  Sampler min_p(4, 1.0f, 1.0f, 3);
  min_p.set_minp(0.29f);  // at least 0.145
  EXPECT_EQ(drawn(min_p, logits), (std::set<int32_t>{1, 2, 3}));
  Sampler hot(4, 50.0f, 1.0f, 3);
  EXPECT_EQ(drawn(hot, logits, 200), (std::set<int32_t>{0, 1, 2, 3}));
  Sampler cold(4, 1e-30f, 1.0f, 3);
  EXPECT_EQ(drawn(cold, logits, 200), (std::set<int32_t>{1}));
}

/// Top-p over a large vocabulary with equal logits, which the filter sorts in steps: it keeps the first p * n of n
/// tokens. All probabilities are 1 before the division by their sum, so the draw is exact: a random number of 53 bits
/// in [0, 1) selects one of the kept tokens. One token more or less would change every second draw.
TEST_F(SamplerTest, TopPOfAFlatDistribution) {
  constexpr int32_t kCount = 2400;
  Sampler sampler(kCount, 1.0f, 0.5f, 3);
  const std::vector<float> logits(kCount, 0.25f);
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; i++) {
    EXPECT_EQ(sampler.sample(logits.data()),
              static_cast<int32_t>(static_cast<double>(random() >> 11) * 0x1p-53 * 1200));
  }
}

TEST_F(SamplerTest, SeedsAreReproducible) {
  std::vector<float> logits(100);
  for (size_t i = 0; i < logits.size(); i++) {
    logits[i] = std::sin(static_cast<float>(i));
  }
  const auto draw = [&](unsigned long long seed) {
    Sampler sampler(100, 1.5f, 0.95f, seed);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; i++) {
      tokens.push_back(sampler.sample(logits.data()));
    }
    return tokens;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST_F(SamplerTest, LogitsOfTheLastPositionCount) {
  const auto all = make_tensor_ptr({1, 2, 3}, std::vector<float>{9, 0, 0, 0, 0, 5});
  EXPECT_EQ(logits_to_token(*all), 2);
  const auto half = make_tensor_ptr({1, 3}, std::vector<float>{0, 4, 1}, {}, {}, ScalarType::Half);
  EXPECT_EQ(logits_to_token(*half), 1);
  const auto integers = make_tensor_ptr({1, 3}, std::vector<int32_t>{0, 4, 1});
  EXPECT_EQ(logits_to_token(*integers), -1);
}

TEST_F(SamplerTest, PenaltiesAndBias) {
  const auto sample = [](const SamplingOptions& options, const std::vector<uint64_t>& prompt,
                         const std::vector<uint64_t>& generated) {
    TokenSampler sampler;
    EXPECT_EQ(sampler.configure(options), Error::Ok);
    for (const uint64_t token : prompt) {
      sampler.accept_prompt(token);
    }
    for (const uint64_t token : generated) {
      sampler.accept(token);
    }
    const auto logits = make_tensor_ptr({1, 4}, std::vector<float>{3.0f, 2.5f, 2.0f, -1.0f});
    return *sampler.sample(*logits);
  };
  SamplingOptions options;
  EXPECT_EQ(sample(options, {0, 1}, {0, 1}), 0U);
  options.repetition_penalty = 1.3f;  // 3 / 1.3 < 2.5, and the penalty includes tokens of the prompt
  EXPECT_EQ(sample(options, {0}, {}), 1U);
  EXPECT_EQ(sample(options, {0}, {1}), 0U);
  options = {};
  options.presence_penalty = 0.6f;  // only for generated tokens, once for each
  EXPECT_EQ(sample(options, {0}, {}), 0U);
  EXPECT_EQ(sample(options, {}, {0, 0, 0}), 1U);
  EXPECT_EQ(sample(options, {}, {0, 1}), 0U);
  options = {};
  options.frequency_penalty = 0.3f;
  EXPECT_EQ(sample(options, {}, {0}), 0U);
  EXPECT_EQ(sample(options, {}, {0, 0}), 1U);
  options = {};
  options.logit_bias = {{3, 5.0f}, {0, -kInf}};
  EXPECT_EQ(sample(options, {}, {}), 3U);
}

TEST_F(SamplerTest, OptionsAreChecked) {
  TokenSampler sampler;
  const auto refused = [&sampler](auto change) {
    SamplingOptions options;
    change(options);
    return sampler.configure(options) == Error::InvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& options) { options.temperature = -0.1f; }));
  EXPECT_TRUE(refused([](auto& options) { options.temperature = kNaN; }));
  EXPECT_TRUE(refused([](auto& options) { options.top_k = -1; }));
  EXPECT_TRUE(refused([](auto& options) { options.top_p = 1.1f; }));
  EXPECT_TRUE(refused([](auto& options) { options.min_p = -0.1f; }));
  EXPECT_TRUE(refused([](auto& options) { options.repetition_penalty = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.logit_bias = {{0, kNaN}}; }));
  EXPECT_FALSE(refused([](auto& options) { options.temperature = 100; }));
  SamplingOptions options;
  options.logit_bias = {{4, 1.0f}};
  ASSERT_EQ(sampler.configure(options), Error::Ok);
  EXPECT_EQ(sampler.sample(*make_tensor_ptr({1, 2}, std::vector<float>{0, 1})).error(), Error::InvalidArgument);
}

class Forbid final : public LogitProcessor {
 public:
  explicit Forbid(uint64_t token) : token_(token) {}
  Error process(executorch::aten::Tensor logits) override {
    EXPECT_EQ(logits.dim(), 2);
    EXPECT_EQ(logits.size(0), 1);
    logits.mutable_data_ptr<float>()[token_] = -kInf;
    return Error::Ok;
  }

 private:
  uint64_t token_;
};

TEST_F(SamplerTest, ProcessorsChangeACopy) {
  TokenSampler sampler;
  const auto logits = make_tensor_ptr({1, 2, 2}, std::vector<float>{7, 7, 3, 4}, {}, {}, ScalarType::BFloat16);
  EXPECT_EQ(*sampler.sample(*logits), 1U);
  sampler.add_processor(std::make_shared<Forbid>(1));
  EXPECT_EQ(*sampler.sample(*logits), 0U);
  EXPECT_EQ(static_cast<float>(logits->const_data_ptr<BFloat16>()[3]), 4.0f);
  sampler.add_processor(std::make_shared<Forbid>(0));
  EXPECT_EQ(sampler.sample(*logits).error(), Error::InvalidState);
  EXPECT_EQ(sampler.nan_position(), -1);
  sampler.clear_processors();
  EXPECT_EQ(sampler.sample(*make_tensor_ptr({1, 2}, std::vector<float>{0, kNaN})).error(), Error::InvalidState);
  EXPECT_EQ(sampler.nan_position(), 1);
}

TEST_F(SamplerTest, AGivenSamplerDraws) {
  auto given = std::make_unique<Sampler>(3, 1.0f, 1.0f, 5);
  given->set_topk(1);
  TokenSampler sampler(std::move(given));
  SamplingOptions options;
  options.temperature = 5;
  ASSERT_EQ(sampler.configure(options), Error::Ok);
  const auto logits = make_tensor_ptr({1, 3}, std::vector<float>{0, 0.2f, 0.1f});
  for (int i = 0; i < 50; i++) {
    EXPECT_EQ(*sampler.sample(*logits), 1U);
  }
}

}  // namespace
