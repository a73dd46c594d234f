// SPDX-License-Identifier: BSD-3-Clause
// Words of a text, each made of whole tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

/// The tokens of languages that are written without spaces: Chinese, Japanese, Thai, Lao, Burmese and Cantonese.
inline constexpr const char* kWithoutSpaces[] = {"<|zh|>", "<|ja|>", "<|th|>", "<|lo|>", "<|my|>", "<|yue|>"};

/// A word, and the indices of its first and last token.
struct TokenRange {
  std::string text;
  size_t first = 0;
  size_t last = 0;
};

/// Cuts a text into words by Whisper's rules. A word begins with a space; for languages that are written without spaces
/// (`has_spaces` is false), each token is one, or the tokens of one character. Punctuation belongs to the word before
/// it, opening brackets and quotes to the word after it. Times (from `first_time` on) and special tokens have no text.
runtime::Result<std::vector<TokenRange>> words_of(const ::tokenizers::Tokenizer& tokenizer,
                                                  const std::vector<int64_t>& tokens, int64_t first_time,
                                                  bool has_spaces);

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
