// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The token at each position of a picture or of sound in a conversation.
inline constexpr uint64_t kNoToken = UINT64_MAX;

/// The tokens of a conversation: the tokens that the program has seen, which are in its cache in order, and at most one
/// that it has not seen yet. Functions log the reason before they return an error.
class Conversation final {
 public:
  /// `metadata`: see get_llm_metadata(); it may lack entries.
  explicit Conversation(const std::unordered_map<std::string, int64_t>& metadata);

  /// Number of tokens.
  int64_t position() const { return static_cast<int64_t>(seen_.size()) + (pending_ ? 1 : 0); }
  /// Number of tokens that can still be added.
  int64_t room() const { return limit_ - position(); }
  /// Whether the program keeps a cache, so that only unseen tokens have to be run.
  bool has_cache() const { return has_cache_; }
  const std::vector<uint64_t>& seen() const { return seen_; }
  const std::optional<uint64_t>& pending() const { return pending_; }

  /// InvalidState where the program's state is unknown, until clear().
  runtime::Error check_usable() const;
  /// InvalidArgument if the context has no room for `added`, or if one of the tokens is neither in the program's
  /// vocabulary nor kNoToken.
  runtime::Error check_fits(const std::vector<uint64_t>& added) const;
  /// Checks the tokens of a session; `next` is a token that was predicted and is not in the context.
  /// InvalidExternalData if they do not fit the context; InvalidArgument for a token that is not in the program's
  /// vocabulary, and for kNoToken as `pending` or `next`.
  runtime::Error check_restorable(const std::vector<uint64_t>& seen, std::optional<uint64_t> pending,
                                  std::optional<uint64_t> next) const;

  /// The last token of the conversation followed by `added`; 0 if both are empty or end with a picture or sound.
  uint64_t last_token(const std::vector<uint64_t>& added) const;
  /// The tokens that must be run to append `added`: the pending token, if there is one, and `added`.
  std::vector<uint64_t> unseen(std::vector<uint64_t> added) const;
  /// Must be called when the program has seen the tokens that unseen() returned.
  void add_seen(const std::vector<uint64_t>& tokens);
  /// Adds a token that was generated and that the program has not seen.
  void set_pending(uint64_t token) { pending_ = token; }
  /// Replaces the tokens. The program has seen all but the last, which is pending unless it `has_ended` the sequence.
  void assign_generated(std::vector<uint64_t> tokens, bool has_ended);

  /// Replaces the conversation. The program has all its tokens except `pending` in its state.
  void restore(std::vector<uint64_t> seen, std::optional<uint64_t> pending);

  /// Forgets what comes after the first `position` tokens. InvalidArgument beyond the end; NotSupported if the program
  /// keeps state that cannot go back there.
  runtime::Error rewind(int64_t position);
  /// Must be called when a call of the program failed or was stopped. The cache is still valid up to the seen tokens.
  /// State that is not indexed by position is unknown then, and so is all state after NaN.
  void note_failure(bool found_nan) { needs_new_state_ = has_recurrent_state_ || found_nan; }
  /// Must be called when the program's state is unknown.
  void invalidate() { needs_new_state_ = true; }
  /// Whether the program must begin with a new state, not only at position 0.
  bool needs_new_state() const { return needs_new_state_ || has_foreign_state_; }
  /// Begins anew; the program's state must be new if needs_new_state().
  void clear();

 private:
  runtime::Error check_known(const std::vector<uint64_t>& tokens) const;

  int64_t limit_;
  int64_t vocabulary_;  // 0 if unknown
  bool has_cache_;
  bool has_recurrent_state_;
  std::vector<uint64_t> seen_;
  std::optional<uint64_t> pending_;
  bool needs_new_state_ = false;
  bool has_foreign_state_ = false;  // set by restore(): unlike a new cache, it may hold NaN
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
