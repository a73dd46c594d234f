// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/multimodal_input.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// The options of one generation.
struct GenerationConfig {
  /// Whether the token callback receives the prompt first.
  bool echo = true;
  /// The grammar that the answer follows, from its first character to its last, unless a limit cuts the answer. "" for
  /// any answer.
  std::string grammar;
  /// The language of `grammar`: "json_schema", "regex" (for the whole answer), "gbnf" (rules from `root`) or "lark"
  /// (rules from `start`).
  std::string grammar_type;
  /// Whether generation goes on after a token that ends a sequence.
  bool ignore_eos = false;
  /// The most tokens to generate; -1: until the context is full.
  int32_t max_new_tokens = -1;
  /// Whether this run only warms up: the callbacks are not called.
  bool warming = false;
  /// Tokens of the prompt and of the answer together, without earlier turns; -1: as many as fit into the
  /// context.
  int32_t seq_len = -1;
  /// 0 takes the likeliest token; see Sampler.
  float temperature = 0.8f;
  /// Tokens that begin and end a sequence, around the prompt.
  int32_t num_bos = 0;
  int32_t num_eos = 0;

  // Not in ExecuTorch. See SamplingOptions for the ranges.
  int32_t top_k = 0;
  float top_p = kTopp;
  float min_p = 0.0f;
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  std::vector<std::pair<uint64_t, float>> logit_bias;
  /// Random if not set. The same seed gives the same text again.
  std::optional<uint64_t> seed;
  /// Prompt look-up; 0 turns it off. If the last tokens occurred earlier in the context, up to `lookup_tokens` tokens
  /// that followed them there are checked in one call of the program. This is faster where the answer repeats the
  /// context, and does not change the answer. Needs a program with a cache that gives the logits of all tokens
  /// (debug.generate_full_logits).
  int32_t lookup_tokens = 0;
  /// Speculative decoding; 0 turns it off. Up to `draft_tokens` tokens of a smaller model are checked in one call of
  /// the program. This does not change the answer. Needs TextLLMRunner::set_draft(), and a program as for
  /// lookup_tokens. Where the context repeats, look-up is used instead.
  int32_t draft_tokens = 0;
  /// Texts before which generation ends; they are not given to the token callback.
  std::vector<std::string> stop;

  /// The number of tokens to generate if `num_tokens_occupied` of `max_context_len` positions are used: the smallest of
  /// the three limits, and at least 0.
  int32_t resolve_max_new_tokens(int64_t max_context_len, int64_t num_tokens_occupied) const {
    const int64_t limit = seq_len == -1 ? max_context_len : std::min<int64_t>(seq_len, max_context_len);
    const int64_t room = std::max<int64_t>(0, limit - num_tokens_occupied);
    const int64_t allowed = max_new_tokens == -1 ? room : std::min<int64_t>(room, max_new_tokens);
    return static_cast<int32_t>(std::clamp<int64_t>(allowed, 0, INT32_MAX));
  }
};

/// Generates text with a language model. One generation at a time; stop() may be called from any thread.
class IRunner {
 public:
  virtual ~IRunner() = default;

  /// Whether load() has succeeded.
  virtual bool is_loaded() const = 0;
  /// Loads the program and prepares it. Calling it again has no effect.
  virtual runtime::Error load() = 0;

  /// Adds `prompt` and the model's answer to the conversation. `token_callback` gets the text in pieces of whole
  /// characters, `stats_callback` the measurements at the end. Either may be null.
  virtual runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                  std::function<void(const std::string&)> token_callback,
                                  std::function<void(const Stats&)> stats_callback) = 0;

  /// Like generate(), but from an earlier position. Forgets later tokens of the conversation.
  virtual runtime::Error generate_from_pos(const std::string& prompt, int64_t start_pos, const GenerationConfig& config,
                                           std::function<void(const std::string&)> token_callback,
                                           std::function<void(const Stats&)> stats_callback) {
    (void)prompt, (void)start_pos, (void)config, (void)token_callback, (void)stats_callback;
    return runtime::Error::NotImplemented;
  }

  /// Adds inputs to the conversation without generating. Returns the token that the model would continue with.
  virtual runtime::Result<uint64_t> prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos = 0,
                                            int32_t num_eos = 0) {
    (void)inputs, (void)num_bos, (void)num_eos;
    return runtime::Error::NotSupported;
  }

  /// Ends the current generation after the current token, without an error. Callable from any thread.
  virtual void stop() = 0;
  /// Begins a new conversation.
  virtual void reset() = 0;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
