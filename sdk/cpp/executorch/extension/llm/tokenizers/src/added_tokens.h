// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byte_pairs.h"
#include "json.h"
#include "normalizer.h"
#include "trie.h"

#include <pytorch/tokenizers/result.h>

namespace tokenizers::detail {

/// Tokens that are found in the text itself, before a model sees it.
class AddedTokens {
 public:
  struct Token {
    std::string content;
    std::string text;  // the text to find: the content, or its normalised form
    uint64_t id = 0;
    bool single_word = false;  // not inside a longer word
    bool left_strip = false;   // takes the spaces before it
    bool right_strip = false;  // matches the spaces after it
    bool normalized = true;    // found in the normalised text
    bool special = false;
  };

  /// "added_tokens" of a tokenizer.json.
  Error load(const JsonValue& json, const Normalizer* normalizer, Work& work);
  void add(Token token);

  /// Calls `other(begin, end)` for the text between tokens of one kind, and `token(id)` for tokens, from left to right.
  template <typename Other, typename Found>
  Error split(std::string_view text, bool normalized, Work& work, const Other& other, const Found& token) const {
    const Searcher& searcher = searchers_[normalized ? 1 : 0];
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1 + text.size()));
    size_t kept = 0;
    for (size_t at = searcher.candidate(text, 0); at < text.size();) {
      size_t length = 0;
      const Token* found = nullptr;
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(searcher.trie.prefixes(text.substr(at), [&](size_t size, uint32_t index) {
        found = &tokens_[index];
        length = size;
      })));
      if (found == nullptr) {
        at = searcher.candidate(text, at + 1);
        continue;
      }
      size_t begin = at, end = at + length;
      const size_t behind = end;
      at = searcher.candidate(text, end);
      if (!take(*found, text, kept, begin, end)) {
        continue;
      }
      // Another match may follow inside the spaces that this one takes, and then takes the rest of them again.
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(end - behind));
      if (kept < begin) {
        TK_CHECK_OK_OR_RETURN_ERROR(other(kept, begin));
      }
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(kBytesPerId));
      token(found->id);
      kept = end;  // as in Hugging Face's tokenizers, also if the previous token took spaces beyond this one
    }
    return kept < text.size() ? other(kept, text.size()) : Error::Ok;
  }

  /// Whether tokens are looked for in the normalised text.
  bool has_normalized() const { return !searchers_[1].trie.empty(); }
  const Token* find(uint64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
  }
  const Token* find(std::string_view content) const;
  const std::vector<Token>& all() const { return tokens_; }

 private:
  struct Searcher {
    Trie trie;
    std::array<bool, 256> first{};  // bytes that tokens begin with

    size_t candidate(std::string_view text, size_t at) const {
      if (trie.empty()) {
        return text.size();
      }
      while (at < text.size() && !first[static_cast<unsigned char>(text[at])]) {
        at++;
      }
      return at;
    }
  };
  /// Returns false if the token does not match here; otherwise extends the match by the spaces that it takes.
  static bool take(const Token& token, std::string_view text, size_t kept, size_t& begin, size_t& end);

  std::vector<Token> tokens_;
  std::unordered_map<uint64_t, size_t> by_id_;
  std::unordered_map<std::string, size_t> by_content_;
  std::array<Searcher, 2> searchers_;
};

}  // namespace tokenizers::detail
