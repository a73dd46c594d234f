// SPDX-License-Identifier: BSD-3-Clause
// The effects of bad input, failures and stop(), with a function as the program.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "text_llm_runner_test_support.h"

namespace text_llm_runner_test {
namespace {

TEST_F(TextLLMRunnerTest, LimitsAreErrors) {
  make(successor);
  EXPECT_EQ(generate(std::string(33, 'a'), greedy(1)), Error::InvalidArgument);
  EXPECT_EQ(generate(std::string(32, 'a'), greedy(1)), Error::InvalidArgument);  // no room for an answer
  EXPECT_EQ(decoder_->calls.size(), 0U);
  ASSERT_EQ(generate(std::string(31, 'a'), greedy(-1)), Error::Ok);
  EXPECT_EQ(text_, "b");
  runner_->reset();
  ASSERT_EQ(generate("a", greedy(-1)), Error::Ok);
  EXPECT_EQ(stats_.num_generated_tokens, 31);
  EXPECT_EQ(generate("z", greedy(1)), Error::InvalidArgument);
  runner_->reset();
  EXPECT_EQ(generate("", greedy(1)), Error::InvalidState);
  EXPECT_EQ(generate("a", greedy(0)), Error::InvalidArgument);
  EXPECT_EQ(generate("a", greedy(-2)), Error::InvalidArgument);
  GenerationConfig config = greedy(5);
  config.seq_len = 3;
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, "bc");
  ASSERT_EQ(generate("p", config), Error::Ok);  // seq_len counts one turn
  EXPECT_EQ(text_, "qr");
  EXPECT_EQ(generate("abc", config), Error::InvalidArgument);
  config = greedy(5);
  config.grammar = "root ::= x";
  EXPECT_EQ(generate("a", config), Error::InvalidArgument);  // the type is missing
  config = greedy(5);
  config.num_bos = -1;
  EXPECT_EQ(generate("a", config), Error::InvalidArgument);
  config = greedy(5);
  for (const float temperature : {-0.1f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    config = greedy(5);
    config.temperature = temperature;
    EXPECT_EQ(generate("a", config), Error::InvalidArgument) << temperature;
  }
  config.temperature = 1.1f;
  EXPECT_EQ(generate("a", config), Error::Ok);
}

/// The parts of a runner, which applications also use directly.
TEST_F(TextLLMRunnerTest, NegativeTemperaturesAreErrorsBeforeTheProgramRuns) {
  make(successor);
  TextPrefiller prefiller(decoder_, true, true, 8);
  Ids tokens{'a', 'b'};
  int64_t position = 0;
  EXPECT_EQ(prefiller.prefill(tokens, position, -0.1f).error(), Error::InvalidArgument);
  EXPECT_EQ(prefiller.prefill_chunk(tokens, position, -0.1f).error(), Error::InvalidArgument);
  EXPECT_EQ(runner_->token_generator().generate(tokens, position, 3, -0.1f).error(), Error::InvalidArgument);
  EXPECT_EQ(position, 0);
  EXPECT_TRUE(decoder_->calls.empty());
  EXPECT_TRUE(prefiller.prefill(tokens, position, 1.1f).ok());
  EXPECT_TRUE(runner_->token_generator().generate(tokens, position, 3, 1.1f).ok());
  // The seed is random, but the logits are 3 and -1: every other token has a probability of only e^-80.
  EXPECT_EQ(*runner_->token_generator().generate({'a', 'b'}, position, 3, 0.05f), 3);
}

TEST_F(TextLLMRunnerTest, VocabulariesMustFit) {
  Options options;
  options.vocabulary = 1000;
  make(successor, options);
  EXPECT_EQ(runner_->load(), Error::InvalidArgument);
  options.vocabulary = 270;  // padded
  make(successor, options);
  EXPECT_EQ(runner_->load(), Error::Ok);
  options.vocabulary = 240;  // the tokenizer has a few more tokens, which are errors only in a prompt
  make(successor, options);
  EXPECT_EQ(generate("a", greedy(1)), Error::Ok);
  EXPECT_EQ(generate("\xFF", greedy(1)), Error::InvalidArgument);
}

TEST_F(TextLLMRunnerTest, NaNEndsWithAnErrorUntilReset) {
  make(successor);
  decoder_->is_nan = true;
  EXPECT_EQ(generate("a", greedy(4)), Error::InvalidState);
  decoder_->is_nan = false;
  EXPECT_EQ(generate("a", greedy(4)), Error::InvalidState);
  runner_->reset();
  EXPECT_EQ(generate("a", greedy(4)), Error::Ok);
  EXPECT_EQ(text_, "bcde");
  // In the middle.
  runner_->reset();
  decoder_->on_step = [this] { decoder_->is_nan = decoder_->seen.size() == 4; };
  EXPECT_EQ(generate("a", greedy(9)), Error::InvalidState);
  EXPECT_EQ(text_, "bcd");
  runner_->reset();
  decoder_->on_step = nullptr;
  decoder_->is_nan = false;
  EXPECT_EQ(generate("a", greedy(2)), Error::Ok);
}

TEST_F(TextLLMRunnerTest, AFailedStepLeavesTheContextBefore) {
  make(successor);
  ASSERT_EQ(generate("a", greedy(2)), Error::Ok);
  decoder_->fails = true;
  EXPECT_EQ(generate("x", greedy(2)), Error::Internal);
  EXPECT_EQ(runner_->position(), 3);
  decoder_->fails = false;
  ASSERT_EQ(generate("k", greedy(2)), Error::Ok);
  EXPECT_EQ(decoder_->seen, (Ids{'a', 'b', 'c', 'k', 'l'}));
  Options recurrent;
  recurrent.recurrent = 1;
  make(successor, recurrent);
  ASSERT_EQ(generate("a", greedy(2)), Error::Ok);
  decoder_->fails = true;
  EXPECT_EQ(generate("x", greedy(2)), Error::Internal);
  decoder_->fails = false;
  EXPECT_EQ(generate("k", greedy(2)), Error::InvalidState);
  runner_->reset();
  EXPECT_EQ(generate("k", greedy(2)), Error::Ok);
}

TEST_F(TextLLMRunnerTest, AThrowingCallbackIsAnError) {
  make(successor);
  int calls = 0;
  const auto error = runner_->generate("a", greedy(9), [&calls](const std::string&) {
    if (++calls == 3) {
      throw std::runtime_error("full disk");
    }
  });
  EXPECT_EQ(error, Error::Cancelled);
  EXPECT_EQ(calls, 3);
  ASSERT_EQ(generate("", greedy(2)), Error::Ok);
  EXPECT_EQ(text_, "ef");
  EXPECT_EQ(runner_->generate("a", greedy(9), [](const std::string&) { throw 1; }), Error::Cancelled);
}

TEST_F(TextLLMRunnerTest, OneCallAtATime) {
  make(successor);
  std::vector<Error> errors;
  ASSERT_EQ(runner_->generate("a", greedy(1),
                              [&](const std::string&) {
                                errors.push_back(runner_->generate("b", greedy(1)));
                                errors.push_back(runner_->prefill("b").error());
                                errors.push_back(runner_->warmup("b", 1));
                                errors.push_back(runner_->generate_from_pos("b", 0, greedy(1)));
                                runner_->reset();
                              }),
            Error::Ok);
  EXPECT_EQ(errors, std::vector<Error>(4, Error::InvalidState));
  EXPECT_EQ(runner_->position(), 2);
}

/// LR-12: from another thread, and from the callback.
TEST_F(TextLLMRunnerTest, StopsLR12) {
  make(successor);
  ASSERT_EQ(runner_->generate("a", greedy(20),
                              [&](const std::string& piece) {
                                text_ += piece;
                                if (piece == "d") {
                                  runner_->stop();
                                }
                              }),
            Error::Ok);
  EXPECT_EQ(text_, "bcd");
  ASSERT_EQ(generate("", greedy(2)), Error::Ok);  // stop() affects only one call
  EXPECT_EQ(text_, "ef");

  Options options;
  options.context = 1 << 20;
  make([](const Ids&) { return uint64_t{'a'}; }, options);
  std::atomic<bool> began{false};
  decoder_->on_step = [&began] { began = true; };
  std::thread other([&] {
    while (!began) {
      std::this_thread::yield();
    }
    runner_->stop();
  });
  ASSERT_EQ(runner_->generate("a", greedy(-1)), Error::Ok);
  other.join();
  EXPECT_LT(runner_->generated_tokens().size(), 1U << 19);
}

}  // namespace
}  // namespace text_llm_runner_test
