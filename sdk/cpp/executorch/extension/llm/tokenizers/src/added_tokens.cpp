// SPDX-License-Identifier: BSD-3-Clause
#include "added_tokens.h"

#include <algorithm>

#include "failure.h"
#include "unicode.h"
#include "utf8.h"
#include "vocabulary.h"

namespace tokenizers::detail {
namespace {

constexpr uint64_t kBytesPerNode = 64;

}  // namespace

Error AddedTokens::load(const JsonValue& json, const Normalizer* normalizer, Work& work) {
  if (!json) {
    return Error::Ok;
  }
  if (!json.is_array()) {
    return json.expected("an array");
  }
  return json.for_each([&](const JsonValue& entry) {
    Token token;
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("content", token.content));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("id", token.id));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("single_word", token.single_word, false));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("lstrip", token.left_strip, false));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("rstrip", token.right_strip, false));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("special", token.special, false));
    TK_CHECK_OK_OR_RETURN_ERROR(entry.read("normalized", token.normalized, !token.special));
    if (token.id > kLargestToken) {
      return entry["id"].expected("an id below 16777216");
    }
    token.text = token.content;
    if (token.normalized && normalizer != nullptr) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(heap_bytes(token.text)));
      TK_CHECK_OK_OR_RETURN_ERROR(normalizer->apply(token.text, work));
    }
    if (!token.content.empty()) {
      // Each byte is a node of the trie.
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(kBytesPerNode * token.text.size()));
      add(std::move(token));
    }
    return Error::Ok;
  });
}

void AddedTokens::add(Token token) {
  const std::string& text = token.text;
  Searcher& searcher = searchers_[token.normalized ? 1 : 0];
  if (!text.empty()) {
    searcher.trie.set(text, static_cast<uint32_t>(tokens_.size()));
    searcher.first[static_cast<unsigned char>(text[0])] = true;
  }
  by_id_[token.id] = tokens_.size();
  by_content_.emplace(token.content, tokens_.size());
  tokens_.push_back(std::move(token));
}

const AddedTokens::Token* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

bool AddedTokens::take(const Token& token, std::string_view text, size_t kept, size_t& begin, size_t& end) {
  // The token before has taken these spaces, up to the next character that is none. As in Hugging Face's tokenizers, a
  // token that begins with spaces is found among them, but not one that would take what is before it, too: nothing is
  // left for that. Checked first, because reading the spaces again for each match would take quadratic time.
  if (token.left_strip && end <= kept) {
    return false;
  }
  const auto character_before = [&](size_t at) {
    size_t start = previous_character(text, at);
    return next_character(text, start);
  };
  const auto character_at = [&](size_t at) { return next_character(text, at); };
  if (token.single_word &&
      ((begin > 0 && is_word(character_before(begin))) || (end < text.size() && is_word(character_at(end))))) {
    return false;
  }
  while (token.left_strip && begin > kept && is_space(character_before(begin))) {
    begin = previous_character(text, begin);
  }
  while (token.right_strip && end < text.size() && is_space(character_at(end))) {
    next_character(text, end);
  }
  return true;
}

}  // namespace tokenizers::detail
