// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "text_pieces.h"

namespace tokenizers::detail {

/// A text and its pieces, which do not overlap and are in order.
struct PieceList {
  PieceList() = default;
  PieceList(const PieceList&) = delete;
  PieceList& operator=(const PieceList&) = delete;

  std::string_view text;
  std::vector<Range> pieces;
  /// Whether the text begins where the text to encode does.
  bool at_start = true;

  std::string_view piece(const Range& range) const { return text.substr(range.begin, range.end - range.begin); }
  /// Takes over a text that replaces the one before.
  void own(std::string changed) {
    owned_ = std::move(changed);
    text = owned_;
  }

 private:
  std::string owned_;
};

/// Splits a text into words.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  virtual ~PreTokenizer() = default;
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  virtual Error apply(PieceList& list) const = 0;
  /// Whether the words are characters that stand for bytes.
  virtual bool is_byte_level() const { return false; }
  /// Where is_byte_level(): leaves the bytes as they are, for a model that takes them.
  virtual void keep_bytes() {}
};

/// "pre_tokenizer" of a tokenizer.json; nothing for null.
Error make_pre_tokenizer(const JsonValue& json, std::unique_ptr<PreTokenizer>& pre_tokenizer);

/// Where the script changes; a space belongs to any, and the scripts of Japanese are one.
Error make_unicode_scripts(const JsonValue& json, std::unique_ptr<PreTokenizer>& pre_tokenizer);

}  // namespace tokenizers::detail
