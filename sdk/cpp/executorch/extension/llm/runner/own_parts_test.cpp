// SPDX-License-Identifier: BSD-3-Clause
// An application's own tokenizer and its own way to choose tokens, with the public headers alone. The program is made
// by tests/data/make_language_model.py; expected tokens come from its logits, which this file reads without the runner.
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/text_llm_engine.h>
#include <executorch/extension/llm/sampler/logit_processor.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <pytorch/tokenizers/tokenizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

using executorch::aten::Tensor;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
namespace llm = executorch::extension::llm;

constexpr int kLetters = 95;
constexpr const char* kPrompt = "Once upon a time";

/// A letter of ASCII is a token; decoding gives lower-case letters.
class SmallLetters final : public tokenizers::Tokenizer {
 public:
  SmallLetters() {
    initialized_ = true;
    vocab_size_ = kLetters;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return std::string(1, letter(static_cast<int>(token)));
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string& text) const override {
    return static_cast<uint64_t>(text[0] - ' ');
  }
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string& input, int8_t, int8_t) const override {
    std::vector<uint64_t> ids(input.size());
    std::transform(input.begin(), input.end(), ids.begin(), [](char c) { return static_cast<uint64_t>(c - ' '); });
    return ids;
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override { return id_to_piece(token); }
  std::optional<uint64_t> bos_id() const override { return std::nullopt; }
  std::optional<uint64_t> eos_id() const override { return std::nullopt; }

  static char letter(int token) {
    const char c = static_cast<char>(token + ' ');
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
};

int second_likeliest(const float* logits) {
  std::vector<int> order(kLetters);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + 2, order.end(),
                    [logits](int a, int b) { return logits[a] > logits[b]; });
  return order[1];
}

/// A sampler: always the second likeliest token.
class SecondLikeliest final : public llm::LogitProcessor {
 public:
  Error process(Tensor logits) override {
    auto* const row = logits.mutable_data_ptr<float>();
    const int chosen = second_likeliest(row);
    std::fill(row, row + logits.numel(), -std::numeric_limits<float>::infinity());
    row[chosen] = 0;
    return Error::Ok;
  }
};

/// The text that the program and the two classes generate from the prompt.
std::string expected(int count) {
  Module module(LANGUAGE_MODEL);
  std::vector<int64_t> tokens;
  for (const char* c = kPrompt; *c != '\0'; ++c) {
    tokens.push_back(*c - ' ');
  }
  std::string text;
  int64_t position = 0;
  for (int i = 0; i < count; ++i) {
    const auto result = module.forward(std::vector<EValue>{
        from_blob(tokens.data(), {1, static_cast<int32_t>(tokens.size())}, executorch::aten::ScalarType::Long),
        from_blob(&position, {1}, executorch::aten::ScalarType::Long)});
    EXPECT_TRUE(result.ok());
    position += static_cast<int64_t>(tokens.size());
    tokens = {second_likeliest(result->at(0).toTensor().const_data_ptr<float>())};
    text += SmallLetters::letter(static_cast<int>(tokens[0]));
  }
  return text;
}

/// LE-25: an application's tokenizer and sampler.
TEST(OwnPartsTest, TokenizerAndSamplerOfTheApplicationLE25) {
  auto runner = llm::create_text_llm_runner(LANGUAGE_MODEL, std::make_unique<SmallLetters>());
  ASSERT_NE(runner, nullptr);
  runner->token_generator().add_logit_processor(std::make_shared<SecondLikeliest>());
  llm::GenerationConfig config;
  config.echo = false;
  config.max_new_tokens = 20;
  std::string text;
  ASSERT_EQ(runner->generate(kPrompt, config, [&](const std::string& piece) { text += piece; }), Error::Ok);
  EXPECT_EQ(text, expected(20));
}

// The context has 64 tokens (make_language_model.py). Its last one is sampled, and no token can follow it.
TEST(OwnPartsTest, ASessionOfTheEngineEndsWithTheContext) {
  constexpr int64_t kContext = 64;
  const auto engine = llm::TextLLMEngine::create(LANGUAGE_MODEL, std::make_shared<SmallLetters>());
  ASSERT_TRUE(engine.ok());
  const auto session = (*engine)->create_session();
  ASSERT_TRUE(session.ok());
  llm::SamplingConfig greedy;
  greedy.temperature = 0;
  const std::vector<uint64_t> prompt = *SmallLetters().encode(kPrompt, 0, 0);
  std::vector<uint64_t> tokens;
  for (int conversation = 0; conversation < 2; ++conversation) {
    ASSERT_EQ((*session)->prefill_tokens(prompt), Error::Ok);
    for (int64_t position = static_cast<int64_t>(prompt.size()) + 1; position <= kContext; ++position) {
      const auto result = (*session)->decode_one(greedy);
      ASSERT_TRUE(result.ok()) << position;
      EXPECT_EQ((*session)->position(), position);
      EXPECT_EQ(result->is_terminal, position == kContext);
      tokens.push_back(result->token_id);
    }
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ((*session)->decode_one(greedy).error(), Error::InvalidState);
      EXPECT_EQ((*session)->position(), kContext);
    }
    ASSERT_EQ((*session)->reset(), Error::Ok);
  }
  const auto half = static_cast<std::ptrdiff_t>(tokens.size() / 2);
  EXPECT_EQ(std::vector<uint64_t>(tokens.begin(), tokens.begin() + half),
            std::vector<uint64_t>(tokens.begin() + half, tokens.end()));
}

}  // namespace
