// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/extension/llm/runner/text_stream.h>
#include <executorch/extension/llm/sampler/logit_processor.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

namespace internal {
class DraftModel;
}

/// Generates tokens one after another.
class TextTokenGenerator {
 public:
  /// The objects that the pointers refer to must outlive this object. `eos_ids` are the tokens that end a sequence.
  TextTokenGenerator(::tokenizers::Tokenizer* tokenizer, TextDecoderRunner* text_decoder_runner, bool use_kv_cache,
                     std::unique_ptr<std::unordered_set<uint64_t>>&& eos_ids, Stats* stats)
      : tokenizer_(tokenizer),
        text_decoder_runner_(text_decoder_runner),
        eos_ids_(std::move(eos_ids)),
        use_kv_cache_(use_kv_cache),
        stats_(stats) {}
  virtual ~TextTokenGenerator() = default;

  /// Whether to continue after a token that ends a sequence.
  void set_ignore_eos(bool ignore_eos) { ignore_eos_ = ignore_eos; }
  /// Prompt look-up, see GenerationConfig::lookup_tokens. The program then gets up to this number of tokens plus one
  /// per call.
  void set_lookup_tokens(int32_t lookup_tokens) { lookup_tokens_ = lookup_tokens; }
  /// Sets the model that drafts up to `draft_tokens` tokens where look-up finds none; null removes it. It must outlive
  /// its use.
  void set_draft(internal::DraftModel* draft, int32_t draft_tokens) {
    draft_ = draft_tokens > 0 ? draft : nullptr;
    draft_tokens_ = draft_tokens;
  }
  /// Processors change the logits of all tokens of a generation, also of the first one that a TextPrefiller with the
  /// same TextDecoderRunner samples.
  void add_logit_processor(std::shared_ptr<LogitProcessor> processor) {
    text_decoder_runner_->token_sampler().add_processor(std::move(processor));
  }
  void clear_logit_processors() { text_decoder_runner_->token_sampler().clear_processors(); }
  size_t num_logit_processors() const { return text_decoder_runner_->token_sampler().num_processors(); }
  inline runtime::Error apply_logit_processors(executorch::aten::Tensor& logits) {
    return text_decoder_runner_->token_sampler().apply_processors(logits);
  }

  /// Generates up to `max_new_tokens` tokens after `tokens`, until a token ends the sequence or stop() is called. The
  /// last of `tokens` has the position `start_pos` and was not run yet. Returns the number of new tokens, including the
  /// one that ends the sequence. `token_callback` gets the text in pieces of whole characters, without the token that
  /// ends the sequence, and without a character that `max_new_tokens` cuts.
  inline runtime::Result<int64_t> generate(std::vector<uint64_t> tokens, int64_t start_pos, int32_t max_new_tokens,
                                           float temperature = 0.0f,
                                           const std::function<void(const std::string&)>& token_callback = {}) {
    ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "there are no tokens to continue");
    clear_stop();
    internal::TextStream text(*tokenizer_, tokens.back(), {}, token_callback);
    return generate(tokens, start_pos, max_new_tokens, temperature, text);
  }

  /// Like generate() above, but writes to `text`, which may also end the generation by a stop text. Adds the new tokens
  /// to `tokens`, even if an error follows. Does not clear an earlier stop().
  runtime::Result<int64_t> generate(std::vector<uint64_t>& tokens, int64_t start_pos, int32_t max_new_tokens,
                                    float temperature, internal::TextStream& text);

  /// Whether a token ends the sequence.
  bool ends(uint64_t token) const { return !ignore_eos_ && is_eos(token); }
  bool is_eos(uint64_t token) const { return eos_ids_ && eos_ids_->count(token) > 0; }
  /// The tokens that end the sequence.
  std::vector<uint64_t> eos_ids() const {
    return eos_ids_ ? std::vector<uint64_t>(eos_ids_->begin(), eos_ids_->end()) : std::vector<uint64_t>();
  }

  /// Ends generate() after the current token. Callable from any thread.
  inline void stop() { should_stop_ = true; }
  void clear_stop() { should_stop_ = false; }
  bool is_stopping() const { return should_stop_; }

  runtime::Error load() { return text_decoder_runner_->load(); }
  bool inline is_loaded() const { return text_decoder_runner_->is_method_loaded(); }

 private:
  runtime::Result<int64_t> accept_rows(const executorch::aten::Tensor& logits, const std::vector<uint64_t>& drafted,
                                       float temperature, std::vector<uint64_t>& tokens, internal::TextStream& text);

  ::tokenizers::Tokenizer* tokenizer_;
  TextDecoderRunner* text_decoder_runner_;
  std::unique_ptr<std::unordered_set<uint64_t>> eos_ids_;
  bool use_kv_cache_;
  bool ignore_eos_ = false;
  int32_t lookup_tokens_ = 0;
  internal::DraftModel* draft_ = nullptr;
  int32_t draft_tokens_ = 0;
  std::atomic<bool> should_stop_{false};
  Stats* stats_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
