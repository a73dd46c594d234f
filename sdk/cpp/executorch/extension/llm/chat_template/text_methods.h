// SPDX-License-Identifier: BSD-3-Clause
// Functions that the methods of strings share with filters and operators.
#pragma once

#include <string_view>

#include "characters.h"
#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

Value to_upper(Work& work, const Value& text);
Value to_lower(Work& work, const Value& text);
/// The first character in title case, the others in lower case.
Value to_capitalized(Work& work, const Value& text);
bool all_upper(std::string_view text);
bool all_lower(std::string_view text);

/// str.strip(): the first argument, if given, is None or the characters to remove.
Value strip(Interpreter& in, const Value& text, const Bound& arguments, bool left, bool right);
Value replaced(Work& work, std::string_view text, std::string_view from, std::string_view to, int64_t count);

enum class Side { kLeft, kRight, kBoth };
/// Pads to a width in characters. `side` is the side of the text.
Value justified(Work& work, const Value& text, int64_t width, std::string_view fill, Side side);

/// The value for comparisons that ignore case: strings in lower case, other values unchanged.
Value folded(Work& work, const Value& value);

/// dict.items(): a view of pairs.
Value dict_items(Work& work, const Value& dict);

// The filters of these names.
Value word_wrap(Interpreter& in, const Value& input, const Bound& arguments);
Value pretty_print(Interpreter& in, const Value& input, const Bound& arguments);

/// Calls `visit` with each line and its end, while it returns true.
template <typename Visit>
void each_line(std::string_view text, Visit visit) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const uint32_t c = next_character(text, at);
    if (!is_line_end(c)) {
      continue;
    }
    at += c == '\r' && at < text.size() && text[at] == '\n' ? 1 : 0;
    if (!visit(text.substr(begin, end - begin), text.substr(end, at - end))) {
      return;
    }
    begin = at;
  }
  if (begin < text.size()) {
    visit(text.substr(begin), std::string_view());
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
