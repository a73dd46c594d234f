// SPDX-License-Identifier: BSD-3-Clause
// The program is made by tests/data/make_speech.py; expected results come from transformers.
#include <executorch/extension/asr/runner/runner.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::asr;
using executorch::extension::from_blob;
using executorch::extension::TensorPtr;

const std::string kProgram = std::string(DATA_FOLDER) + "/speech/whisper.pte";

std::vector<int64_t> expected() {
  std::ifstream file(std::string(DATA_FOLDER) + "/speech/whisper.expected");
  std::string line;
  std::getline(file, line);
  std::istringstream tokens(line);
  std::vector<int64_t> found;
  for (int64_t token = 0; tokens >> token;) {
    found.push_back(token);
  }
  return found;
}

class Seq2SeqRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    for (size_t i = 0; i < features_.size(); i++) {
      features_[i] = static_cast<float>(i * 37 % 256) / 256.0F;
    }
  }
  TensorPtr features() { return from_blob(features_.data(), {1, 16, 200}); }

  std::vector<float> features_ = std::vector<float>(16 * 200);
  AsrRunner runner_{kProgram, std::nullopt, ""};
};

/// ECO-03: the shapes of Whisper, on CPUs.
TEST_F(Seq2SeqRunnerTest, TokensEqualTransformersECO03) {
  EXPECT_FALSE(runner_.is_loaded());
  auto config = runner_.default_config();
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(runner_.is_loaded());
  EXPECT_EQ(config->decoder_start_token_id, 92);
  EXPECT_EQ(config->prompt_token_ids, (std::vector<int64_t>{93}));
  EXPECT_EQ(config->suppress_token_ids, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(config->begin_suppress_token_ids, (std::vector<int64_t>{94}));
  EXPECT_EQ(config->eos_token_ids, (std::unordered_set<int64_t>{94}));
  const std::vector<int64_t> wanted = expected();
  config->max_new_tokens = static_cast<int64_t>(wanted.size());
  std::string text;
  for (int i = 0; i < 2; i++) {  // each call begins with an empty cache
    text.clear();
    const auto tokens = runner_.transcribe(features(), *config, [&](const std::string& piece) { text += piece; });
    ASSERT_TRUE(tokens.ok());
    EXPECT_EQ(*tokens, wanted);
  }
  std::string letters;
  for (const int64_t token : wanted) {
    letters += token < 92 ? std::string(1, static_cast<char>(token + ' ')) : "";
  }
  EXPECT_EQ(text, letters);
  EXPECT_EQ(runner_.stats().num_generated_tokens, static_cast<int64_t>(wanted.size()));
  EXPECT_EQ(runner_.stats().num_prompt_tokens, 2);
}

TEST_F(Seq2SeqRunnerTest, EndsAtATokenThatTheCallerNames) {
  auto config = *runner_.default_config();
  config.max_new_tokens = 12;
  const std::vector<int64_t> wanted = expected();
  config.eos_token_ids = {wanted[2]};
  const auto tokens = runner_.transcribe(features(), config);
  ASSERT_TRUE(tokens.ok());
  size_t first = 0;
  while (wanted[first] != wanted[2]) {
    first++;
  }
  EXPECT_EQ(*tokens, std::vector<int64_t>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(first) + 1));
}

TEST_F(Seq2SeqRunnerTest, StopsFromTheCallback) {
  auto config = *runner_.default_config();
  config.max_new_tokens = 12;
  const auto tokens = runner_.transcribe(features(), config, [&](const std::string&) {
    EXPECT_EQ(runner_.transcribe(features()).error(), Error::InvalidState);
    runner_.stop();
  });
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->size(), 1U);
}

/// Another program computes the features.
TEST_F(Seq2SeqRunnerTest, APreprocessorBesideTheProgram) {
  runner_.set_preprocessor(
      std::make_unique<executorch::extension::Module>(std::string(DATA_FOLDER) + "/speech/preprocessor.pte"));
  auto config = *runner_.default_config();
  config.max_new_tokens = 12;
  std::string text;
  for (const int64_t token : expected()) {
    text += static_cast<char>(token + ' ');
  }
  std::vector<float> sound = features_;
  sound.insert(sound.end(), features_.begin(), features_.end());  // two windows
  const auto found = runner_.transcribe_samples(sound, config);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, text + text);
}

/// An encoder that takes samples: the next token is the last token plus the sum of the window's samples.
TEST_F(Seq2SeqRunnerTest, SamplesWithoutAPreprocessor) {
  AsrRunner runner(std::make_unique<executorch::extension::Module>(std::string(DATA_FOLDER) + "/speech/samples.pte"),
                   "");
  auto config = *runner.default_config();
  config.max_new_tokens = 4;
  std::vector<float> sound(3200, 0.0F);
  sound[0] = 1.0F;
  sound[3199] = 2.0F;
  sound.push_back(5.0F);
  const auto found = runner.transcribe_samples(sound, config);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, "#&),%*/4");  // 3, 6, 9, 12 and 5, 10, 15, 20 after the space
}

TEST_F(Seq2SeqRunnerTest, WhatCannotBeUsed) {
  auto config = *runner_.default_config();
  EXPECT_EQ(runner_.transcribe(nullptr, config).error(), Error::InvalidArgument);
  EXPECT_EQ(runner_.transcribe(from_blob(features_.data(), {1, 16, 100}), config).error(), Error::InvalidArgument);
  std::vector<int64_t> whole(16 * 200);
  EXPECT_EQ(
      runner_.transcribe(from_blob(whole.data(), {1, 16, 200}, executorch::aten::ScalarType::Long), config).error(),
      Error::InvalidArgument);
  config.max_new_tokens = 0;
  EXPECT_EQ(runner_.transcribe(features(), config).error(), Error::InvalidArgument);
  config.max_new_tokens = 4;
  config.prompt_token_ids = {-1};
  EXPECT_EQ(runner_.transcribe(features(), config).error(), Error::InvalidArgument);
  config.prompt_token_ids = {};
  config.temperature = -1;
  EXPECT_EQ(runner_.transcribe(features(), config).error(), Error::InvalidArgument);
  config.temperature = 0;
  EXPECT_TRUE(runner_.transcribe(features(), config).ok());
  EXPECT_EQ(runner_.transcribe_samples({0.5F}, config).error(), Error::NotSupported);  // there is no front end
  EXPECT_EQ(runner_.transcribe_file("/there/is/no/such.wav", config).error(), Error::AccessFailed);
  EXPECT_EQ(*runner_.token_id("<en>"), 93);
  EXPECT_EQ(runner_.token_id("<|xx|>").error(), Error::NotFound);
  EXPECT_EQ(AsrRunner("/there/is/no/such.pte", std::nullopt, "").load(), Error::AccessFailed);
  EXPECT_EQ(AsrRunner(std::string(DATA_FOLDER) + "/language_model.pte", std::nullopt, "").load(),
            Error::InvalidArgument);
  EXPECT_NE(AsrRunner(kProgram, std::nullopt, "/there/is/no/tokenizer.json").load(), Error::Ok);
}

}  // namespace
