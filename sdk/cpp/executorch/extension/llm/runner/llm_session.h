// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// How the next token of a session is chosen. See Sampler.
struct SamplingConfig {
  /// -1 means the default of GenerationConfig, 0.8.
  float temperature = -1.0f;
  float top_p = 1.0f;
  int32_t top_k = 0;
  /// 0 for a random one.
  uint64_t seed = 0;
};

struct DecodeResult {
  uint64_t token_id = 0;
  /// The characters that the token completes; none for a token that ends the sequence.
  std::string text_piece;
  bool is_eos = false;
  /// Whether nothing can follow: the sequence has ended, or the context is full.
  bool is_terminal = false;
};

struct LLMServingCapacity {
  /// How many sessions can share the program's weights in memory. Further sessions would copy some of the weights.
  int32_t max_physical_sessions_without_weight_duplication = 1;
  /// Memory of a session for its cache and activations in bytes; 0 if unknown.
  int64_t estimated_bytes_per_session = 0;
};

/// A conversation, token by token. Only stop() may be called from another thread.
class LLMSession {
 public:
  virtual ~LLMSession() = default;

  /// Adds tokens. The next decode_one() uses `initial_sampling`, if given, instead of its argument. InvalidArgument if
  /// the context has no room for the tokens, or one is not in the vocabulary; Cancelled after stop().
  virtual runtime::Error prefill_tokens(const std::vector<uint64_t>& tokens,
                                        const SamplingConfig* initial_sampling = nullptr) = 0;
  /// The next token, which becomes part of the conversation unless it ends the sequence. InvalidState before
  /// prefill_tokens() and after a result that was terminal.
  virtual runtime::Result<DecodeResult> decode_one(const SamplingConfig& sampling) = 0;
  /// Number of tokens in the conversation.
  virtual int64_t position() const = 0;
  virtual runtime::Error reset() = 0;
  /// Ends the current call, or else the next one, with Cancelled. Callable from any thread.
  virtual void stop() = 0;
};

/// Conversations over one copy of a program's weights.
class LLMEngine {
 public:
  virtual ~LLMEngine() = default;
  /// Sessions may be used from different threads, and outlive the engine.
  virtual runtime::Result<std::unique_ptr<LLMSession>> create_session() = 0;
  virtual LLMServingCapacity serving_capacity() const = 0;
  virtual const std::unordered_map<std::string, int64_t>& metadata() const = 0;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
