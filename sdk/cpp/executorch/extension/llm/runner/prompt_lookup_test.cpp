// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/prompt_lookup.h>

#include "text_llm_runner_test_support.h"

namespace text_llm_runner_test {
namespace {

using internal::kNoToken;
using internal::look_up;

TEST(LookUpTest, TheLatestPlaceOfTheLastThreeTokens) {
  EXPECT_EQ(look_up({1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 1, 2, 3}, 2), (Ids{6, 7}));
  EXPECT_EQ(look_up({1, 2, 3, 4, 9, 2, 3}, 2), (Ids{4, 9}));  // two of them
  EXPECT_EQ(look_up({1, 2, 3, 4, 9, 3}, 2), Ids());
  EXPECT_EQ(look_up({1, 2, 3, 4, 1, 2, 3}, 0), Ids());
  EXPECT_EQ(look_up({5, 6, 5, 6}, 5), (Ids{5, 6, 5, 6, 5}));
  EXPECT_EQ(look_up({7, 7, 7}, 3), (Ids{7, 7, 7}));
  for (const Ids& tokens : {Ids(), Ids{1}, Ids{1, 1}}) {
    EXPECT_EQ(look_up(tokens, 4), Ids());
  }
}

TEST(LookUpTest, LeavesOutPicturesAndSound) {
  EXPECT_EQ(look_up({1, 2, 3, kNoToken, 4, 1, 2, 3}, 4), Ids());
  EXPECT_EQ(look_up({1, 2, 3, 4, kNoToken, 1, 2, 3}, 4), (Ids{4}));
  EXPECT_EQ(look_up({kNoToken, kNoToken, 4, kNoToken, kNoToken}, 4), Ids());
}

class PromptLookupTest : public TextLLMRunnerTest {
 protected:
  static Options options() {
    Options found;
    found.all_logits = true;
    found.dynamic = 1;
    found.context = 200;
    return found;
  }
  static GenerationConfig looking(GenerationConfig config, int32_t tokens) {
    config.lookup_tokens = tokens;
    return config;
  }
};

/// The tokens equal those without look-up, with fewer calls.
TEST_F(PromptLookupTest, SameTokensInFewerCalls) {
  const std::string answers[] = {"abcabdabcabe", "aaaaaaaaab", "abcdefghijkl", std::string("abcabcab\0x", 10)};
  for (const std::string& answer : answers) {
    for (const int32_t count : {1, 2, 40, 97}) {
      for (const float temperature : {0.0F, 3.0F}) {
        GenerationConfig config = greedy(count);
        config.temperature = temperature;
        config.seed = 5;
        make(spells(answer), options());
        ASSERT_EQ(generate("xyab", config), Error::Ok);
        const Ids wanted = runner_->generated_tokens();
        const std::string text = text_;
        const size_t calls = decoder_->calls.size();
        for (const int32_t tokens : {1, 3, 7, 100}) {
          make(spells(answer), options());
          ASSERT_EQ(generate("xyab", looking(config, tokens)), Error::Ok);
          EXPECT_EQ(runner_->generated_tokens(), wanted) << answer << tokens;
          EXPECT_EQ(text_, text);
          EXPECT_LE(decoder_->calls.size(), calls);
          if (temperature == 0.0F && count == 97 && tokens == 7 && answer == "aaaaaaaaab") {
            EXPECT_LE(decoder_->calls.size(), calls / 2);
          }
          // The conversation continues as without look-up.
          ASSERT_EQ(generate("q", greedy(3)), Error::Ok);
          EXPECT_EQ(decoder_->seen.size(), static_cast<size_t>(runner_->position()) - 1 +
                                               (runner_->generated_tokens().back() == kEos ? 1 : 0));
        }
      }
    }
  }
}

TEST_F(PromptLookupTest, StopTextsAndLimits) {
  GenerationConfig config = greedy(50);
  config.stop = {"bcabca"};
  for (const int32_t tokens : {0, 7}) {
    make(spells("abcabc"), options());
    ASSERT_EQ(generate("xx", looking(config, tokens)), Error::Ok);  // cabcabca
    EXPECT_EQ(text_, "ca");
    EXPECT_EQ(runner_->generated_tokens().size(), 8U);
    EXPECT_EQ(runner_->position(), 10);
  }
  make(spells("ab"), options());
  ASSERT_EQ(generate("xx", looking(greedy(9), 7)), Error::Ok);
  EXPECT_EQ(text_, "ababababa");
}

TEST_F(PromptLookupTest, ProgramsThatCannot) {
  Options other = options();
  other.all_logits = false;
  make(spells("ab"), other);
  EXPECT_EQ(generate("abab", looking(greedy(9), 7)), Error::NotSupported);
  runner_->reset();
  EXPECT_EQ(generate("abab", greedy(9)), Error::Ok);
  other = options();
  other.recurrent = 1;
  make(spells("ab"), other);
  EXPECT_EQ(generate("abab", looking(greedy(9), 7)), Error::NotSupported);
  other = options();
  other.use_kv_cache = false;
  make(spells("ab"), other);
  EXPECT_EQ(generate("abab", looking(greedy(4), 7)), Error::NotSupported);
  other = options();
  other.dynamic = 0;
  make(spells("ab"), other);
  EXPECT_EQ(generate("abab", looking(greedy(9), 7)), Error::NotSupported);
  make(spells("ab"), options());
  EXPECT_EQ(generate("abab", looking(greedy(9), -1)), Error::InvalidArgument);
}

}  // namespace
}  // namespace text_llm_runner_test
