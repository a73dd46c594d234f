// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of TextLLMRunner: a fake program, whose next token a function computes from the earlier ones.
#pragma once

#include <executorch/extension/llm/runner/llm_runner_helper.h>

#include <gtest/gtest.h>

#include <limits>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/platform/runtime.h>

namespace text_llm_runner_test {

using namespace executorch::extension::llm;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::Result;

using Ids = std::vector<uint64_t>;

inline constexpr uint64_t kEos = 0;

/// A token is a byte.
class ByteTokenizer final : public tokenizers::Tokenizer {
 public:
  ByteTokenizer() {
    initialized_ = true;
    vocab_size_ = 256;
    bos_tok_ = 1;
    eos_tok_ = kEos;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return std::string(1, static_cast<char>(token));
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string& text) const override {
    return static_cast<uint64_t>(static_cast<unsigned char>(text[0]));
  }
  tokenizers::Result<Ids> encode(const std::string& input, int8_t bos, int8_t eos) const override {
    Ids ids(static_cast<size_t>(bos), bos_tok_);
    for (const char byte : input) {
      ids.push_back(static_cast<unsigned char>(byte));
    }
    ids.insert(ids.end(), static_cast<size_t>(eos), eos_tok_);
    return ids;
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override { return id_to_piece(token); }
};

/// A program that keeps what it has seen, and computes the likeliest next token from it.
class FakeDecoder final : public TextDecoderRunner {
 public:
  using Next = std::function<uint64_t(const Ids&)>;

  FakeDecoder(Next next, ScalarType type, bool all_logits)
      : TextDecoderRunner(nullptr, nullptr), next_(std::move(next)), type_(type), all_logits_(all_logits) {}

  Result<Tensor> step(TensorPtr& input, int64_t start_pos) override {
    EXPECT_LE(start_pos, static_cast<int64_t>(seen.size())) << "an earlier position is missing";
    seen.resize(static_cast<size_t>(start_pos));
    const auto count = static_cast<size_t>(input->numel());
    calls.push_back(count);
    const auto* const tokens = input->const_data_ptr<int64_t>();
    seen.insert(seen.end(), tokens, tokens + count);
    if (on_step) {
      on_step();
    }
    if (fails) {
      return Error::Internal;
    }
    std::vector<float> logits((all_logits_ ? count : 1) * 256,
                              is_nan ? std::numeric_limits<float>::quiet_NaN() : -1.0f);
    const auto rows = static_cast<int32_t>(logits.size() / 256);
    for (int32_t row = 0; row < rows && !is_nan; row++) {
      const Ids until(seen.begin(), seen.end() - (rows - 1 - row));
      logits[static_cast<size_t>(row) * 256 + next_(until)] = 3.0f;
    }
    logits_ = all_logits_ ? make_tensor_ptr({1, rows, 256}, logits, {}, {}, type_)
                          : make_tensor_ptr({1, 256}, logits, {}, {}, type_);
    return *logits_;
  }
  Error load() override {
    loaded_ = true;
    return Error::Ok;
  }
  bool is_method_loaded() override { return loaded_; }

  Ids seen;
  std::vector<size_t> calls;
  std::function<void()> on_step;
  bool fails = false;
  bool is_nan = false;

 private:
  Next next_;
  ScalarType type_;
  bool all_logits_;
  bool loaded_ = false;
  TensorPtr logits_;
};

/// The token at position p is byte p of `answer` repeated without end.
inline FakeDecoder::Next spells(std::string answer) {
  return [answer = std::move(answer)](const Ids& seen) {
    return static_cast<uint64_t>(static_cast<unsigned char>(answer[seen.size() % answer.size()]));
  };
}
/// The next letter of the alphabet.
inline uint64_t successor(const Ids& seen) {
  return seen.back() + 1;
}

struct Options {
  bool use_kv_cache = true;
  bool parallel = true;
  int64_t max_seq_len = 8;
  int64_t context = 32;
  int64_t vocabulary = 256;
  int64_t recurrent = 0;
  int64_t dynamic = 0;
  ScalarType type = ScalarType::Float;
  bool all_logits = false;
};

class TextLLMRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  void make(FakeDecoder::Next next, const Options& options = Options()) {
    auto module = std::make_unique<Module>("");
    auto tokenizer = std::make_unique<ByteTokenizer>();
    auto io_manager = std::make_unique<IOManager>(*module);
    auto decoder = std::make_unique<FakeDecoder>(std::move(next), options.type, options.all_logits);
    auto stats = std::make_unique<Stats>();
    auto prefiller =
        std::make_unique<TextPrefiller>(decoder.get(), options.use_kv_cache, options.parallel, options.max_seq_len);
    auto eos = std::make_unique<std::unordered_set<uint64_t>>(std::unordered_set<uint64_t>{kEos});
    auto generator = std::make_unique<TextTokenGenerator>(tokenizer.get(), decoder.get(), options.use_kv_cache,
                                                          std::move(eos), stats.get());
    std::unordered_map<std::string, int64_t> metadata{
        {kMaxSeqLen, options.max_seq_len},       {kMaxContextLen, options.context},
        {kUseKVCache, options.use_kv_cache},     {kVocabSize, options.vocabulary},
        {kHasRecurrentState, options.recurrent}, {kEnableDynamicShape, options.dynamic}};
    decoder_ = decoder.get();
    runner_ = std::make_unique<TextLLMRunner>(std::move(metadata), std::move(tokenizer), std::move(module),
                                              std::move(decoder), std::move(prefiller), std::move(io_manager),
                                              std::move(generator), std::move(stats));
  }

  static GenerationConfig greedy(int32_t max_new_tokens) {
    GenerationConfig config;
    config.echo = false;
    config.temperature = 0;
    config.max_new_tokens = max_new_tokens;
    return config;
  }

  Error generate(const std::string& prompt, const GenerationConfig& config) {
    text_.clear();
    pieces_ = 0;
    return runner_->generate(
        prompt, config,
        [this](const std::string& piece) {
          text_ += piece;
          pieces_++;
        },
        [this](const Stats& stats) { stats_ = stats; });
  }

  std::unique_ptr<TextLLMRunner> runner_;
  FakeDecoder* decoder_ = nullptr;
  std::string text_;
  int pieces_ = 0;
  Stats stats_;
};

}  // namespace text_llm_runner_test
