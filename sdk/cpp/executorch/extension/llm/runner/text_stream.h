// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Whether special tokens, such as those that name a language, are part of the text.
enum class SpecialTokens { kShown, kLeftOut };

/// Turns generated tokens into text for a callback: whole characters, up to the first stop text.
class TextStream final {
 public:
  using Callback = std::function<void(const std::string&)>;

  /// `previous` is the token before the first one, `unfinished` the result of unfinished() of the previous stream.
  /// `tokenizer` and `callback` (may be empty) must outlive this.
  TextStream(const ::tokenizers::Tokenizer& tokenizer, uint64_t previous, std::vector<std::string> stops,
             const Callback& callback, std::string unfinished = {},
             SpecialTokens special_tokens = SpecialTokens::kShown)
      : tokenizer_(tokenizer),
        decoder_(tokenizer, special_tokens == SpecialTokens::kLeftOut, previous, std::move(unfinished)),
        stops_(std::move(stops)),
        callback_(callback) {}

  /// Passes a text to the callback unchanged.
  runtime::Error write(const std::string& text);
  /// Gives the callback the characters that the token completes. Tokens beyond the tokenizer's vocabulary, which pad
  /// the program's, have no text. Errors: Cancelled, after a log line, if the callback throws; InvalidArgument if the
  /// tokenizer fails.
  runtime::Error push(uint64_t token);
  /// Gives the callback the text that was held back, unless a stop text was found. An incomplete character becomes
  /// U+FFFD if the sequence `has_ended`; otherwise unfinished() has its bytes.
  runtime::Error finish(bool has_ended);
  /// The bytes of the incomplete character at the end of the text: at most three.
  const std::string& unfinished() const { return decoder_.unfinished(); }

  /// Whether a stop text was found: there is no more text.
  bool is_stopped() const { return stopped_; }
  /// Whether the callback threw.
  bool has_failed() const { return failed_; }

 private:
  const ::tokenizers::Tokenizer& tokenizer_;
  ::tokenizers::StreamDecoder decoder_;
  std::vector<std::string> stops_;
  const Callback& callback_;
  std::string held_;
  bool stopped_ = false;
  bool failed_ = false;
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
