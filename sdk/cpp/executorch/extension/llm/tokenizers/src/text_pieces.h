// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "regex.h"

namespace tokenizers::detail {

/// A part of a text, in bytes.
struct Range {
  size_t begin;
  size_t end;
};

/// A string or a regular expression to search for. "pattern" in a tokenizer.json.
class Pattern {
 public:
  /// {"String": "..."}, {"Regex": "..."}, or a string.
  Error load(const JsonValue& json, Work& work);
  Error load_regex(std::string_view pattern, Work& work) {
    is_regex_ = true;
    return regex_.compile(pattern, RegexSyntax::kOniguruma, work);
  }

  /// Calls `found(begin, end)`, which returns an Error, for the matches from left to right, until it returns an error.
  template <typename Found>
  Error for_each(std::string_view text, Work& work, const Found& found) const {
    if (is_regex_) {
      return regex_.for_each(text, work, found);
    }
    if (literal_.empty()) {
      return Error::Ok;
    }
    // At worst, a search compares the literal again at every second byte of the text.
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size() + text.size() / 2 * std::min(literal_.size(), text.size())));
    for (size_t at = find(text, 0); at != std::string_view::npos; at = find(text, at + literal_.size())) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(Regex::kStepsOfMatch));
      TK_CHECK_OK_OR_RETURN_ERROR(found(at, at + literal_.size()));
    }
    return Error::Ok;
  }

  /// Replaces every match by `content` in a text whose heap_bytes() are charged to `work`.
  Error replace(std::string& text, std::string_view content, Work& work) const;

 private:
  /// Finds the literal from `at` on; npos if it does not occur. std::string_view::find would start anew wherever the
  /// text has the first byte, which takes ten times as long.
  size_t find(std::string_view text, size_t at) const;

  bool is_regex_ = false;
  std::string literal_;
  Regex regex_;
};

/// The treatment of the matches that split a text.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Reads the mark for a space, which is U+2581 unless the file names another one. Error::ParseFailure if it is not one
/// character.
Error read_space_mark(const JsonValue& json, std::string& mark);

/// "behavior" in a tokenizer.json.
Error read_behavior(const JsonValue& json, SplitBehavior& behavior);

/// Makes the pieces of a text from its matches, from left to right, and the text between them.
class Splitter {
 public:
  Splitter(size_t size, SplitBehavior behavior, bool invert) : size_(size), behavior_(behavior), invert_(invert) {}

  void match(size_t begin, size_t end) {
    if (at_ < begin) {
      part(at_, begin, invert_);
    }
    part(begin, end, !invert_);
    at_ = end;
  }
  /// The pieces that are not empty, moved by `offset`.
  void finish(size_t offset, std::vector<Range>& pieces);

 private:
  void part(size_t begin, size_t end, bool is_match);

  size_t size_;
  SplitBehavior behavior_;
  bool invert_;
  size_t at_ = 0;
  bool has_previous_ = false;
  bool previous_was_match_ = false;
  std::vector<Range> pieces_;
};

}  // namespace tokenizers::detail
