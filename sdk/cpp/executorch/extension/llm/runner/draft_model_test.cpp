// SPDX-License-Identifier: BSD-3-Clause
// Speculation with a model that drafts: both programs are functions.
#include "text_llm_runner_test_support.h"

#include <array>

namespace text_llm_runner_test {
namespace {

class DraftTest : public TextLLMRunnerTest {
 protected:
  static Options options(int64_t context = 200) {
    Options found;
    found.all_logits = true;
    found.dynamic = 1;
    found.context = context;
    return found;
  }

  /// A runner of `large` for which `small` drafts.
  void make_both(const FakeDecoder::Next& large, const FakeDecoder::Next& small, int64_t context = 200) {
    make(small, options(context));
    std::shared_ptr<TextLLMRunner> draft = std::move(runner_);
    draft_decoder_ = decoder_;
    make(large, options());
    ASSERT_EQ(runner_->set_draft(draft), Error::Ok);
  }

  static GenerationConfig drafting(GenerationConfig config, int32_t tokens) {
    config.draft_tokens = tokens;
    return config;
  }

  FakeDecoder* draft_decoder_ = nullptr;
};

/// The tokens equal those without a draft model, whether it is right always, often or never.
TEST_F(DraftTest, SameTokensInFewerCalls) {
  const std::string answer = "abcdefghij";
  const FakeDecoder::Next often = [&](const Ids& seen) {
    return seen.size() % 4 == 0 ? uint64_t{'?'} : spells(answer)(seen);
  };
  const FakeDecoder::Next never = [](const Ids&) { return uint64_t{'!'}; };
  for (const float temperature : {0.0F, 3.0F}) {
    GenerationConfig config = greedy(60);
    config.temperature = temperature;
    config.seed = 9;
    make(spells(answer), options());
    ASSERT_EQ(generate("xyz", config), Error::Ok);
    const Ids wanted = runner_->generated_tokens();
    const size_t calls = decoder_->calls.size();
    for (const auto& small : {spells(answer), often, never}) {
      for (const int32_t tokens : {1, 3, 7, 50}) {
        make_both(spells(answer), small);
        ASSERT_EQ(generate("xyz", drafting(config, tokens)), Error::Ok);
        EXPECT_EQ(runner_->generated_tokens(), wanted);
        EXPECT_LE(decoder_->calls.size(), calls);
        ASSERT_EQ(generate("q", drafting(greedy(5), tokens)), Error::Ok);  // the conversation goes on
        EXPECT_EQ(decoder_->seen.size(),
                  static_cast<size_t>(runner_->position()) - 1 + (runner_->generated_tokens().back() == kEos ? 1 : 0));
      }
    }
  }
  make_both(spells(answer), spells(answer));
  ASSERT_EQ(generate("xyz", drafting(greedy(60), 5)), Error::Ok);
  EXPECT_LE(decoder_->calls.size(), 12U);  // 6 tokens per call
}

/// Sampled tokens have the probabilities of the large model: chi-square over the pairs of the first two tokens.
TEST_F(DraftTest, SampledTokensKeepTheirDistribution) {
  constexpr int kRuns = 1500;
  constexpr std::array<char, 3> kLetters = {'a', 'b', 'c'};
  std::array<std::array<double, 9>, 2> counts{};
  for (size_t with = 0; with < 2; with++) {
    make_both([](const Ids& seen) { return seen.back() == 'a' ? uint64_t{'b'} : uint64_t{'a'}; },
              [](const Ids& seen) { return seen.back() == 'b' ? uint64_t{'c'} : uint64_t{'b'}; });
    for (int run = 0; run < kRuns; run++) {
      GenerationConfig config = greedy(3);
      config.temperature = 4.0F;  // logits of 3 and -1: e to 1
      config.top_p = 1.0F;
      config.seed = static_cast<uint64_t>(run) * 2 + with;
      config.draft_tokens = with == 1 ? 2 : 0;
      for (uint64_t token = 0; token < 256; token++) {
        if (std::find(kLetters.begin(), kLetters.end(), static_cast<char>(token)) == kLetters.end()) {
          config.logit_bias.emplace_back(token, -std::numeric_limits<float>::infinity());
        }
      }
      runner_->reset();
      ASSERT_EQ(generate("x", config), Error::Ok);
      counts[with][static_cast<size_t>((text_[1] - 'a') * 3 + text_[2] - 'a')]++;
    }
  }
  double statistic = 0;
  for (size_t i = 0; i < 9; i++) {
    const double expected = (counts[0][i] + counts[1][i]) / 2;
    ASSERT_GT(expected, 10);
    statistic += (counts[0][i] - expected) * (counts[0][i] - expected) / expected * 2;
  }
  EXPECT_LT(statistic, 26.12);  // 8 degrees of freedom: exceeded once in 1,000 if both distributions are the same
}

TEST_F(DraftTest, WhatCannotDraft) {
  make(spells("ab"), options());
  EXPECT_EQ(generate("a", drafting(greedy(3), 2)), Error::InvalidState);  // no model drafts
  EXPECT_EQ(generate("a", drafting(greedy(3), -1)), Error::InvalidArgument);
  std::shared_ptr<TextLLMRunner> large = std::move(runner_);
  EXPECT_EQ(large->set_draft(large), Error::InvalidArgument);
  Options other = options();
  other.vocabulary = 260;
  make(spells("ab"), other);
  EXPECT_EQ(large->set_draft(std::move(runner_)), Error::InvalidArgument);
  other = options();
  other.recurrent = 1;
  make(spells("ab"), other);
  EXPECT_EQ(large->set_draft(std::move(runner_)), Error::NotSupported);
  EXPECT_EQ(large->generate("ab", greedy(3)), Error::Ok);
}

/// When the small model's context ends, the answer continues without it; after its failure the runner is usable again.
TEST_F(DraftTest, AShorterContextAndAFailure) {
  make_both(spells("abcd"), spells("abcd"), 20);
  ASSERT_EQ(generate("xy", drafting(greedy(60), 4)), Error::Ok);
  EXPECT_EQ(runner_->generated_tokens().size(), 60U);
  make_both(spells("abcd"), spells("abcd"));
  draft_decoder_->fails = true;
  EXPECT_EQ(generate("xy", drafting(greedy(20), 4)), Error::Internal);
  draft_decoder_->fails = false;
  runner_->reset();
  ASSERT_EQ(generate("xy", drafting(greedy(20), 4)), Error::Ok);
  EXPECT_EQ(text_, "cdabcdabcdabcdabcdab");
}

}  // namespace
}  // namespace text_llm_runner_test
