// SPDX-License-Identifier: BSD-3-Clause
// Methods of strings that cut, join and pad.
#include <algorithm>

#include "format.h"
#include "search.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// str.split() without a separator: splits at white space.
Value split_words(Interpreter& in, std::string_view text, int64_t limit, bool from_right) {
  ListBuilder parts(in);
  while (!in.failed()) {
    text = stripped(text, nullptr, !from_right, from_right);
    if (text.empty()) {
      break;
    }
    if (limit == 0) {
      parts.add(in.text(text));  // the rest, with the white space at its other end
      break;
    }
    limit -= limit > 0 ? 1 : 0;
    size_t at = from_right ? text.size() : 0;
    size_t end = at;
    while (from_right ? at > 0 : at < text.size()) {
      end = at;
      if (is_space(from_right ? previous_character(text, at) : next_character(text, at))) {
        break;
      }
      end = at;
    }
    parts.add(in.text(from_right ? text.substr(end) : text.substr(0, end)));
    text = from_right ? text.substr(0, end) : text.substr(end);
  }
  from_right ? std::reverse(parts.items().begin(), parts.items().end()) : void();
  return parts.value();
}

Value split(Interpreter& in, const Value& self, const Bound& arguments, bool from_right) {
  int64_t limit = -1;
  if (arguments.has(1) && !in.integer(*arguments.get(1), "the limit of a split", limit)) {
    return {};
  }
  std::string_view text = self.as_text();
  in.read(4 * text.size());
  if (!arguments.has_value(0)) {
    return split_words(in, text, limit, from_right);
  }
  if (!in.string(*arguments.get(0), "a separator")) {
    return {};
  }
  const std::string_view separator = arguments.get(0)->as_text();
  if (separator.empty()) {
    return in.fail("the separator of a split is empty");
  }
  ListBuilder parts(in);
  while (limit != 0 && in.step()) {
    const size_t found = from_right ? find_last_text(in, text, separator) : find_text(in, text, separator, 0);
    if (found == std::string_view::npos) {
      break;
    }
    const size_t behind = found + separator.size();
    parts.add(in.text(from_right ? text.substr(behind) : text.substr(0, found)));
    text = from_right ? text.substr(0, found) : text.substr(behind);
    limit -= limit > 0 ? 1 : 0;
  }
  parts.add(in.text(text));
  from_right ? std::reverse(parts.items().begin(), parts.items().end()) : void();
  return parts.value();
}
Value split_from_left(Interpreter& in, const Value& self, const Bound& arguments) {
  return split(in, self, arguments, false);
}
Value split_from_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return split(in, self, arguments, true);
}

Value split_lines(Interpreter& in, const Value& self, const Bound& arguments) {
  ListBuilder lines(in);
  int64_t keeps = 0;
  if (arguments.has(0) && !in.integer(*arguments.get(0), "the argument of method 'splitlines'", keeps)) {
    return {};
  }
  in.read(4 * self.as_text().size());
  each_line(self.as_text(), [&](std::string_view line, std::string_view end) {
    return lines.add(in.text(keeps != 0 ? std::string_view(line.data(), line.size() + end.size()) : line));
  });
  return lines.value();
}

Value partition(Interpreter& in, const Value& self, const Bound& arguments, bool from_right) {
  const std::string_view all = self.as_text();
  if (!in.string(*arguments.get(0), "a separator")) {
    return {};
  }
  const std::string_view separator = arguments.get(0)->as_text();
  if (separator.empty()) {
    return in.fail("the separator of a partition is empty");
  }
  const size_t found = from_right ? find_last_text(in, all, separator) : find_text(in, all, separator, 0);
  const bool has = found != std::string_view::npos;
  ListBuilder parts(in);
  parts.add(has ? in.text(all.substr(0, found)) : from_right ? in.text("") : self);
  parts.add(in.text(has ? separator : std::string_view()));
  parts.add(has ? in.text(all.substr(found + separator.size())) : from_right ? self : in.text(""));
  return parts.value(Type::kTuple);
}
Value partition_from_left(Interpreter& in, const Value& self, const Bound& arguments) {
  return partition(in, self, arguments, false);
}
Value partition_from_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return partition(in, self, arguments, true);
}

Value strip_both(Interpreter& in, const Value& self, const Bound& arguments) {
  return strip(in, self, arguments, true, true);
}
Value strip_left(Interpreter& in, const Value& self, const Bound& arguments) {
  return strip(in, self, arguments, true, false);
}
Value strip_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return strip(in, self, arguments, false, true);
}

Value join(Interpreter& in, const Value& self, const Bound& arguments) {
  const Value items = in.elements(*arguments.get(0));
  TextBuilder made(in);
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    const Value& item = items.as_list()[i];
    made.add(i > 0 ? std::string_view(self.as_text()) : std::string_view());
    if (self.is_markup()) {
      made.add(escaped(in, item).as_text());
    } else if (in.string(item, "an element that is joined")) {
      made.add(item.as_text());
    }
  }
  return made.value();
}

Value justify(Interpreter& in, const Value& self, const Bound& arguments, Side side) {
  int64_t width = 0;
  const Value fill = arguments.has(1) ? *arguments.get(1) : in.text(" ");
  if (!in.integer(*arguments.get(0), "a width", width) || !in.string(fill, "the fill character")) {
    return {};
  }
  if (fill.length() != 1) {
    return in.fail("expected one fill character, found " + std::to_string(fill.length()));
  }
  return justified(in, self, width, fill.as_text(), side);
}
Value justify_left(Interpreter& in, const Value& self, const Bound& arguments) {
  return justify(in, self, arguments, Side::kLeft);
}
Value justify_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return justify(in, self, arguments, Side::kRight);
}
Value center(Interpreter& in, const Value& self, const Bound& arguments) {
  return justify(in, self, arguments, Side::kBoth);
}

Value fill_with_zeros(Interpreter& in, const Value& self, const Bound& arguments) {
  int64_t width = 0;
  if (!in.integer(*arguments.get(0), "a width", width)) {
    return {};
  }
  const std::string_view all = self.as_text();
  const size_t sign = !all.empty() && (all[0] == '-' || all[0] == '+') ? 1 : 0;
  TextBuilder made(in);
  made.add(all.substr(0, sign));
  const auto length = static_cast<int64_t>(self.length());
  made.repeat("0", static_cast<uint64_t>(width > length ? width - length : 0));
  made.add(all.substr(sign));
  return made.value();
}

Value expand_tabs(Interpreter& in, const Value& self, const Bound& arguments) {
  int64_t size = 8;
  if (arguments.has(0) && !in.integer(*arguments.get(0), "the size of a tab", size)) {
    return {};
  }
  const std::string_view all = self.as_text();
  TextBuilder made(in);
  uint64_t column = 0;
  const auto width = static_cast<uint64_t>(std::max<int64_t>(size, 0));
  for (size_t at = 0; at < all.size() && !in.failed();) {
    const size_t begin = at;
    const uint32_t c = next_character(all, at);
    if (c == '\t') {
      const uint64_t spaces = width == 0 ? 0 : width - column % width;
      made.repeat(" ", spaces);
      column += spaces;
    } else {
      made.add(all.substr(begin, at - begin));
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return made.value();
}

Value format(Interpreter& in, const Value& self, const Bound& arguments) {
  return format_braces(in, self, arguments.rest, arguments.rest_named);
}

Value format_map(Interpreter& in, const Value& self, const Bound& arguments) {
  const Value& values = *arguments.get(0);
  if (!values.is_dict()) {
    return in.fail(std::string("method 'format_map' needs a dictionary, found a value of type ") + values.type_name());
  }
  std::vector<std::pair<std::string, Value>> named;
  for (const Entry& entry : values.as<DictStorage>().entries) {
    if (entry.key.is_string() && in.take(0) && in.read(entry.key.as_text().size())) {
      named.emplace_back(entry.key.as_text(), entry.value);
    }
  }
  return format_braces(in, self, {}, named);
}

constexpr Method kSplitMethods[] = {
    {{"strip", "chars? /", strip_both}, true},
    {{"lstrip", "chars? /", strip_left}, true},
    {{"rstrip", "chars? /", strip_right}, true},
    {{"split", "sep? maxsplit?", split_from_left}, true},
    {{"rsplit", "sep? maxsplit?", split_from_right}, true},
    {{"splitlines", "keepends?", split_lines}, true},
    {{"partition", "sep /", partition_from_left}, true},
    {{"rpartition", "sep /", partition_from_right}, true},
    {{"join", "iterable /", join}, true},
    {{"ljust", "width fillchar? /", justify_left}, true},
    {{"rjust", "width fillchar? /", justify_right}, true},
    {{"center", "width fillchar? /", center}, true},
    {{"zfill", "width /", fill_with_zeros}, true},
    {{"expandtabs", "tabsize?", expand_tabs}, true},
    {{"format", "* **", format}, true},
    {{"format_map", "mapping /", format_map}, true},
};

}  // namespace

Value strip(Interpreter& in, const Value& text, const Bound& arguments, bool left, bool right) {
  const bool has_set = arguments.has_value(0);
  if (has_set && !in.string(*arguments.get(0), "what is stripped")) {
    return {};
  }
  const std::string* const set = has_set ? &arguments.get(0)->as_text() : nullptr;
  // Each character is searched for in the whole set.
  const uint64_t cost = 1 + text.as_text().size() / 16;
  in.step(set != nullptr && set->size() > 64 ? cost * (set->size() / 64) : cost);
  return in.failed() ? Value() : in.text(stripped(text.as_text(), set, left, right));
}

Value justified(Work& work, const Value& text, int64_t width, std::string_view fill, Side side) {
  const auto length = static_cast<int64_t>(text.length());
  const auto missing = static_cast<uint64_t>(width > length ? width - length : 0);
  // Like in Python, an odd space goes to the left if the width is odd, too.
  const uint64_t left = side == Side::kLeft    ? 0
                        : side == Side::kRight ? missing
                                               : missing / 2 + (missing & static_cast<uint64_t>(width) & 1U);
  TextBuilder made(work);
  made.repeat(fill, left);
  made.add(text.as_text());
  made.repeat(fill, missing - left);
  return made.value(text.is_markup());
}

Table<Method> split_methods() {
  return table(kSplitMethods);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
