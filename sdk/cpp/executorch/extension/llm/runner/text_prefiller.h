// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// Runs the program for a prompt, and samples the first token of the answer.
class TextPrefiller {
 public:
  /// `text_decoder_runner` must outlive this object. With a cache, a call gets up to `max_seq_len` tokens if
  /// `enable_parallel_prefill` is true, and otherwise one. Without a cache, one call gets the whole sequence.
  TextPrefiller(TextDecoderRunner* text_decoder_runner, bool use_kv_cache, bool enable_parallel_prefill,
                int64_t max_seq_len = 128);
  virtual ~TextPrefiller() = default;

  /// Runs the tokens from position `start_pos`, which becomes the position after the last token that the program has
  /// seen, also after an error. Returns the next token: the likeliest one, or one that is sampled at `temperature`.
  virtual runtime::Result<uint64_t> prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos);
  virtual runtime::Result<uint64_t> prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                            float temperature);

  /// Runs at most `max_seq_len` tokens. With a cache, prefill() calls this function for each part of a prompt, and
  /// returns the result for the last part.
  virtual runtime::Result<uint64_t> prefill_chunk(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos);
  virtual runtime::Result<uint64_t> prefill_chunk(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                                  float temperature);

  /// Like prefill(), but without sampling: the logits are the runner's last_logits().
  runtime::Error run_tokens(const std::vector<uint64_t>& tokens, int64_t& start_pos) {
    return tokens.empty() ? runtime::Error::InvalidArgument : run(tokens.data(), tokens.size(), start_pos).error();
  }

  runtime::Error load() { return text_decoder_runner_->load(); }
  bool inline is_loaded() const { return text_decoder_runner_->is_method_loaded(); }

 private:
  template <typename PrefillChunk>
  runtime::Result<uint64_t> prefill_in_chunks(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                              float temperature, const PrefillChunk& prefill_chunk);
  runtime::Result<uint64_t> run_and_sample(const std::vector<uint64_t>& tokens, int64_t& start_pos, float temperature);
  runtime::Result<executorch::aten::Tensor> run(const uint64_t* tokens, size_t count, int64_t& start_pos);

  TextDecoderRunner* text_decoder_runner_;
  bool use_kv_cache_;
  bool enable_parallel_prefill_;
  int64_t max_seq_len_;
  bool more_follows_ = false;  ///< Whether the chunk is not the last of its prompt: no token is sampled.
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
