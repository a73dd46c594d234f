// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace llm {

/// Decides which tokens may follow the text so far, for example by a grammar. Serves one sequence; not thread-safe.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Makes the logits of tokens that may not follow -inf. InvalidState, after a log line, if no token may follow.
  virtual runtime::Error apply(float* logits, int64_t count) = 0;
  /// Hints that the program will now compute the logits that the next apply() gets: a constraint may work meanwhile, in
  /// another thread.
  virtual void prepare() {}
  /// Appends `token` to the text. InvalidState, after a log line, if it may not follow.
  virtual runtime::Error accept(uint64_t token) = 0;
  /// Whether nothing may follow but a token that ends the sequence.
  virtual bool has_ended() const = 0;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
