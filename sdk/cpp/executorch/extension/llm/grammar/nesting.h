// SPDX-License-Identifier: BSD-3-Clause
// Measures how deep the brackets and the repetitions of a grammar nest, and how long a pattern is: an engine recurses
// over all of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/llm/grammar/grammar_engine.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The largest number of repetitions in a grammar. The engine's work grows with its square.
inline constexpr size_t kMaxRepetitions = 1000;
/// How many repetitions may contain each other, as the three of ((a*b)*c)*: each makes all answers slower.
inline constexpr size_t kMaxNestedRepetitions = 8;

/// Reads a text character by character and counts nested brackets. Brackets in strings, in comments, in character
/// classes and after a backslash do not count. A closing bracket without an opening one has no effect.
class Nesting final {
 public:
  explicit Nesting(GrammarType type);

  /// False if the text nests too deep at `c`.
  bool push(char c);
  /// The operators *, +, ?, { and ~ so far.
  size_t repetitions() const { return repetitions_; }
  /// How many repetitions are nested in the last one, itself included.
  size_t nested_repetitions() const { return current_.last; }
  size_t line() const { return line_; }
  size_t column() const { return column_; }

 private:
  enum class Place { kText, kString, kClass, kComment };

  bool is_regex() const { return type_ == GrammarType::kRegex || is_in_regex_; }
  /// A level of brackets.
  struct Level {
    size_t last = 0;     // nested repetitions of the last part
    size_t deepest = 0;  // the largest number in any part
  };

  void read(char c);
  void read_text(char c);
  void leave_regex();
  void open(char c);
  void close();
  /// Records a part with this number of nested repetitions.
  void add(size_t repetitions);

  GrammarType type_;
  size_t limit_;
  Place place_ = Place::kText;
  bool is_escaped_ = false;
  bool is_in_regex_ = false;  // between the slashes of Lark
  bool regex_begins_ = false;
  std::string open_;   // the open brackets
  std::string outer_;  // the open brackets around a regular expression of Lark
  Level current_;
  std::vector<Level> levels_, outer_levels_;  // for open_ and outer_: the level before each bracket
  size_t repetitions_ = 0;
  size_t line_ = 1;
  size_t column_ = 0;
};

/// Where the groups of a regular expression nest deeper than kMaxGrammarDepth, or its repetitions deeper than
/// kMaxNestedRepetitions: "byte 9: more than 64 groups in each other"; "" if neither do.
std::string too_deep(std::string_view pattern);

/// The number of characters of a regular expression in which repetitions like {2,9} are written out; at most about
/// 2^32.
uint64_t pattern_length(std::string_view pattern);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
