// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/words.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <executorch/extension/llm/runner/util.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

using runtime::Result;

namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::string_view kOpening = "\"'“¡¿([{-";
constexpr std::string_view kClosing = "\"'.。,，!！?？:：”)]}、";

std::string_view stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

/// Whether the text is a part of `list`, as an empty text is.
bool is_in(std::string_view text, std::string_view list) {
  return list.find(text) != std::string_view::npos;
}

/// Appends `next` to `word`.
void join(TokenRange& word, const TokenRange& next) {
  word.text += next.text;
  word.last = next.last;
}

/// Pieces of whole characters, each of as few tokens as possible.
Result<std::vector<TokenRange>> pieces_of(const ::tokenizers::Tokenizer& tokenizer, const std::vector<int64_t>& tokens,
                                          int64_t first_time) {
  std::vector<TokenRange> pieces;
  ::tokenizers::StreamDecoder decoder(tokenizer, true);
  bool is_open = false;  // whether the last character of `piece` is incomplete
  TokenRange piece;
  for (size_t i = 0; i < tokens.size(); i++) {
    const bool is_text = tokens[i] < first_time && tokens[i] < tokenizer.vocab_size();
    std::string text;
    if (is_text) {
      text = ET_UNWRAP_TOKENIZER(decoder.push(static_cast<uint64_t>(tokens[i])));
    }
    const bool is_special = text.empty() && decoder.unfinished().empty();
    if (!is_text || is_special) {
      continue;
    }
    if (!is_open) {
      piece = TokenRange{"", i, i};
    }
    piece.last = i;
    piece.text += text;
    is_open = !decoder.unfinished().empty();
    if (!is_open) {
      pieces.push_back(std::move(piece));
    }
  }
  if (is_open) {
    piece.text += decoder.finish();
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// Appends each piece without a space before it to the previous one.
std::vector<TokenRange> join_at_spaces(std::vector<TokenRange> pieces) {
  std::vector<TokenRange> words;
  for (TokenRange& piece : pieces) {
    const bool is_start = piece.text.front() == ' ' || is_in(stripped(piece.text), kPunctuation);
    if (words.empty() || is_start) {
      words.push_back(std::move(piece));
    } else {
      join(words.back(), piece);
    }
  }
  return words;
}

/// Appends words to those that open quotations and brackets.
std::vector<TokenRange> join_opening(std::vector<TokenRange> words) {
  std::vector<TokenRange> found;  // in reverse order
  for (size_t i = words.size(); i-- > 0;) {
    const bool is_opening = words[i].text.front() == ' ' && is_in(stripped(words[i].text), kOpening);
    if (is_opening && !found.empty()) {
      join(words[i], found.back());
      found.back() = std::move(words[i]);
    } else {
      found.push_back(std::move(words[i]));
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Appends punctuation to the words before it.
std::vector<TokenRange> join_closing(std::vector<TokenRange> words) {
  std::vector<TokenRange> found;
  for (TokenRange& word : words) {
    if (!found.empty() && found.back().text.back() != ' ' && is_in(word.text, kClosing)) {
      join(found.back(), word);
    } else {
      found.push_back(std::move(word));
    }
  }
  return found;
}

}  // namespace

Result<std::vector<TokenRange>> words_of(const ::tokenizers::Tokenizer& tokenizer, const std::vector<int64_t>& tokens,
                                         int64_t first_time, bool has_spaces) {
  ET_ASSIGN_OR_RETURN(pieces, pieces_of(tokenizer, tokens, first_time));
  return join_closing(join_opening(has_spaces ? join_at_spaces(std::move(pieces)) : std::move(pieces)));
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
