// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/llm/sampler/token_constraint.h>
#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

/// The tokens that mark times in the text of a model.
struct Timestamps {
  /// The token of time 0. Each following token is one step later.
  int64_t first = 0;
  /// Number of samples in a step.
  int64_t step = 320;
  /// The latest step at which a text may begin.
  std::optional<int64_t> latest_start;
  /// The token in the prompt that turns times off.
  std::optional<int64_t> off;
};

/// Whisper's rules for times. A text begins with a time. Times come in pairs, the end of a part and the beginning of
/// the next one, except for the last time. Times do not decrease. If all times together are more probable than every
/// other token, the next token is a time.
class TimestampConstraint final : public llm::TokenConstraint {
 public:
  TimestampConstraint(const Timestamps& timestamps, std::unordered_set<int64_t> ends)
      : timestamps_(timestamps), ends_(std::move(ends)) {}
  runtime::Error apply(float* logits, int64_t count) override;
  runtime::Error accept(uint64_t token) override;
  bool has_ended() const override { return false; }

 private:
  bool is_time(size_t from_end) const;

  Timestamps timestamps_;
  std::unordered_set<int64_t> ends_;
  std::vector<int64_t> tokens_;
};

/// A part of a window's tokens, with its start and end in samples from the beginning of the window.
struct Part {
  int64_t start = 0;
  int64_t end = 0;
  std::vector<int64_t> tokens;
  /// The index of the first token in the window.
  size_t first_token = 0;
};

struct Parts {
  std::vector<Part> parts;
  /// Samples after which the next window begins; 0 if the text was cut before the first time after 0.
  int64_t next = 0;
};

/// Cuts the tokens of a window of `samples` samples, without the end token, at each pair of adjacent times. Tokens
/// after the last pair belong to the next window, unless the text ends with a single time. `has_ended`: the text had an
/// end token. If a limit cut the text instead, the next window begins at the last time of the text. Parts without text
/// are left out.
Parts parts_of(const std::vector<int64_t>& tokens, const Timestamps& timestamps, int64_t samples, bool has_ended);

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
