// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

class TextLLMRunner;

namespace internal {

/// A smaller model that guesses what a larger one of the same vocabulary will generate.
class DraftModel final {
 public:
  /// `runner` has a program with a cache that can go back.
  explicit DraftModel(std::shared_ptr<TextLLMRunner> runner) : runner_(std::move(runner)) {}

  /// The likeliest tokens after `tokens`, which may not be empty: `most` tokens, or fewer at the end of the context;
  /// none for a sequence with pictures or sound. Computes only what differs from the tokens of the last call.
  runtime::Result<std::vector<uint64_t>> draft(const std::vector<uint64_t>& tokens, size_t most);

 private:
  std::shared_ptr<TextLLMRunner> runner_;
  std::vector<uint64_t> seen_;  // the context of `runner_`
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
