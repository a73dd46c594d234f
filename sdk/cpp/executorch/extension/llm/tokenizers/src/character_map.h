// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pytorch/tokenizers/error.h>

#include "work.h"

namespace tokenizers::detail {

/// SentencePiece's precompiled normalisation: texts with their replacements. The bytes are the size of a trie in bytes
/// (uint32, little-endian), the trie (the double array of darts-clone), and the replacements, each of which ends with a
/// zero byte.
class CharacterMap {
 public:
  /// Error::ParseFailure if the sizes do not fit, or a replacement is not UTF-8.
  Error load(std::string_view bytes);
  bool empty() const { return units_.empty(); }

  /// The replacement of the longest known prefix of `text`; `length` is the length of the prefix, or 0. `steps` grows
  /// by the number of bytes that were read.
  std::string_view longest(std::string_view text, size_t& length, size_t& steps) const;
  /// Replaces like Hugging Face's `tokenizers`: a grapheme cluster of less than 6 bytes as a whole, by its shortest
  /// known beginning; otherwise each character. `text`, whose heap_bytes() are charged to `work`, is changed.
  Error replace_by_clusters(std::string& text, Work& work) const;

 private:
  /// Calls `found(length, replacement)` for the known beginnings of `text`, the shortest first, until it returns false.
  template <typename Found>
  void prefixes(std::string_view text, size_t& steps, Found&& found) const;
  bool shortest(std::string_view text, std::string_view& replacement, size_t& steps) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace tokenizers::detail
