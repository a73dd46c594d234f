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
  /// `text` must outlive this, unless it is replaced.
  PieceList(std::string_view text, Work& work) : text(text), work(work) { pieces.push_back({0, text.size()}); }
  ~PieceList() { work.give_back(heap_bytes(owned_) + sizeof(Range) * pieces.capacity()); }
  PieceList(const PieceList&) = delete;
  PieceList& operator=(const PieceList&) = delete;

  std::string_view text;
  /// Their memory is charged to `work`.
  std::vector<Range> pieces;
  Work& work;
  /// Whether the text begins at the beginning of the text to encode.
  bool at_start = true;

  std::string_view piece(const Range& range) const { return text.substr(range.begin, range.end - range.begin); }
  /// Takes over a text that replaces the one before.
  void own(NewText& changed) {
    changed.replace(owned_);
    text = owned_;
  }
  /// Calls `split(piece, offset, pieces)`, which returns an Error, for each piece. It appends pieces that are not
  /// empty, with their offsets in the text.
  template <typename SplitOne>
  Error split_each(const SplitOne& split) {
    std::vector<Range> parts;
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size() + pieces.size()));
    // At most one range for each byte, and twice that while the list grows.
    const uint64_t most = 3 * sizeof(Range) * (text.size() + 1);
    TK_CHECK_OK_OR_RETURN_ERROR(work.take(most));
    parts.reserve(text.size() / 4 + 1);
    for (const Range& range : pieces) {
      TK_CHECK_OK_OR_RETURN_ERROR(split(piece(range), range.begin, parts));
    }
    work.give_back(most - sizeof(Range) * parts.capacity() + sizeof(Range) * pieces.capacity());
    pieces = std::move(parts);
    return Error::Ok;
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
  /// Whether each character of the words represents a byte.
  virtual bool is_byte_level() const { return false; }
  /// If is_byte_level(): does not convert bytes to characters, for a model that takes bytes.
  virtual void keep_bytes() {}
};

/// "pre_tokenizer" of a tokenizer.json; nothing for null.
Error make_pre_tokenizer(const JsonValue& json, Work& work, std::unique_ptr<PreTokenizer>& pre_tokenizer);

/// Splits at changes of script. A space belongs to every script, and the scripts of Japanese count as one.
Error make_unicode_scripts(const JsonValue& json, Work& work, std::unique_ptr<PreTokenizer>& pre_tokenizer);

}  // namespace tokenizers::detail
