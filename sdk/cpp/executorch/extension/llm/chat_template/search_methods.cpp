// SPDX-License-Identifier: BSD-3-Clause
// Methods of strings that look for a part.
#include "search.h"

#include <algorithm>

#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// The part of a text between two positions, which are arguments and count characters, as in a slice.
struct Range {
  size_t begin;
  size_t end;
  bool is_empty;  // not even an empty text is found there
};

bool find_range(Interpreter& in, const Value& self, const Bound& arguments, Range& range) {
  const auto size = static_cast<int64_t>(self.length());
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2; i++) {
    if (arguments.has_value(i + 1) && !in.integer(*arguments.get(i + 1), "a bound of a search", bounds[i])) {
      return false;
    }
    bounds[i] = bounds[i] < 0 ? std::max<int64_t>(bounds[i] + std::min<int64_t>(size, INT64_MAX), 0) : bounds[i];
  }
  bounds[1] = std::min(bounds[1], size);
  range.is_empty = bounds[0] > bounds[1];
  in.read(arguments.has(1) ? self.as_text().size() : 0);
  range.begin = arguments.has(1) ? offset_of(self.as_text(), static_cast<size_t>(std::min(bounds[0], size))) : 0;
  range.end = arguments.has(2) ? offset_of(self.as_text(), static_cast<size_t>(bounds[1])) : self.as_text().size();
  return !in.failed();
}

/// Returns the position of the argument in characters; -1 if it does not occur.
int64_t place_of(Interpreter& in, const Value& self, const Bound& arguments, bool from_right) {
  Range range{};
  if (!in.string(*arguments.get(0), "what is searched") || !find_range(in, self, arguments, range) || range.is_empty) {
    return -1;
  }
  const std::string_view all = std::string_view(self.as_text()).substr(0, range.end);
  const std::string_view part = arguments.get(0)->as_text();
  size_t at = from_right ? find_last_text(in, all.substr(range.begin), part) : find_text(in, all, part, range.begin);
  if (at == std::string_view::npos) {
    return -1;
  }
  at += from_right ? range.begin : 0;
  in.read(at);
  return static_cast<int64_t>(count_characters(all.substr(0, at)));
}

Value find(Interpreter& in, const Value& self, const Bound& arguments) {
  return Value::integer(place_of(in, self, arguments, false));
}
Value find_from_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return Value::integer(place_of(in, self, arguments, true));
}
Value found_or_error(Interpreter& in, int64_t place, const Bound& arguments) {
  if (place >= 0 || in.failed()) {
    return Value::integer(place);
  }
  TextBuilder wanted(in);
  write_repr(in, wanted, *arguments.get(0));
  return in.fail("the string does not contain " + wanted.seen().substr(0, 200));
}
Value index(Interpreter& in, const Value& self, const Bound& arguments) {
  return found_or_error(in, place_of(in, self, arguments, false), arguments);
}
Value index_from_right(Interpreter& in, const Value& self, const Bound& arguments) {
  return found_or_error(in, place_of(in, self, arguments, true), arguments);
}

Value count(Interpreter& in, const Value& self, const Bound& arguments) {
  Range range{};
  if (!in.string(*arguments.get(0), "what is counted") || !find_range(in, self, arguments, range) || range.is_empty) {
    return Value::integer(0);
  }
  const std::string_view all = std::string_view(self.as_text()).substr(0, range.end);
  const std::string_view part = arguments.get(0)->as_text();
  int64_t found = 0;
  if (part.empty()) {
    in.read(all.size());
    return Value::integer(static_cast<int64_t>(count_characters(all.substr(range.begin))) + 1);
  }
  for (size_t at = find_text(in, all, part, range.begin); at != std::string_view::npos && in.step();
       at = find_text(in, all, part, at + part.size())) {
    found++;
  }
  return Value::integer(found);
}

/// Whether the text begins or ends with the argument, or with one of a tuple.
Value borders(Interpreter& in, const Value& self, const Bound& arguments, bool at_start) {
  Range range{};
  const Value& wanted = *arguments.get(0);
  if (!wanted.is(Type::kTuple) && !in.string(wanted, at_start ? "method 'startswith'" : "method 'endswith'")) {
    return {};
  }
  if (!find_range(in, self, arguments, range)) {
    return {};
  }
  const std::string_view all = std::string_view(self.as_text()).substr(0, range.end);
  const auto matches = [&](const Value& choice) {
    if (!in.string(choice, "what a string begins or ends with")) {
      return false;
    }
    const std::string_view part = choice.as_text();
    in.read(part.size());
    return !range.is_empty && range.begin <= range.end && part.size() <= all.size() - range.begin &&
           all.compare(at_start ? range.begin : all.size() - part.size(), part.size(), part) == 0;
  };
  if (wanted.is_string()) {
    return Value::boolean(matches(wanted));
  }
  return Value::boolean(std::any_of(wanted.as_list().begin(), wanted.as_list().end(), matches));
}
Value starts_with(Interpreter& in, const Value& self, const Bound& arguments) {
  return borders(in, self, arguments, true);
}
Value ends_with(Interpreter& in, const Value& self, const Bound& arguments) {
  return borders(in, self, arguments, false);
}

Value replace(Interpreter& in, const Value& self, const Bound& arguments) {
  int64_t count = -1;
  if (!in.string(*arguments.get(0), "what is replaced") || !in.string(*arguments.get(1), "what replaces it") ||
      (arguments.has(2) && !in.integer(*arguments.get(2), "the count of method 'replace'", count))) {
    return {};
  }
  const Value to = self.is_markup() ? escaped(in, *arguments.get(1)) : *arguments.get(1);
  return replaced(in, self.as_text(), arguments.get(0)->as_text(), to.as_text(), count);
}

/// The text without the argument at its start or its end.
Value without(Interpreter& in, const Value& self, const Bound& arguments, bool at_start) {
  if (!in.string(*arguments.get(0), at_start ? "a prefix" : "a suffix")) {
    return {};
  }
  const std::string_view all = self.as_text();
  const std::string_view part = arguments.get(0)->as_text();
  in.read(part.size());
  const bool has =
      part.size() <= all.size() && all.substr(at_start ? 0 : all.size() - part.size(), part.size()) == part;
  return has ? in.text(at_start ? all.substr(part.size()) : all.substr(0, all.size() - part.size())) : self;
}
Value remove_prefix(Interpreter& in, const Value& self, const Bound& arguments) {
  return without(in, self, arguments, true);
}
Value remove_suffix(Interpreter& in, const Value& self, const Bound& arguments) {
  return without(in, self, arguments, false);
}

constexpr Method kSearchMethods[] = {
    {{"startswith", "prefix start? end? /", starts_with}}, {{"endswith", "suffix start? end? /", ends_with}},
    {{"replace", "old new count? /", replace}, true},      {{"find", "sub start? end? /", find}},
    {{"rfind", "sub start? end? /", find_from_right}},     {{"index", "sub start? end? /", index}},
    {{"rindex", "sub start? end? /", index_from_right}},   {{"count", "sub start? end? /", count}},
    {{"removeprefix", "prefix /", remove_prefix}, true},   {{"removesuffix", "suffix /", remove_suffix}, true},
};

}  // namespace

Value replaced(Work& work, std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  TextBuilder made(work);
  size_t start = 0;
  while (count != 0 && start <= text.size() && work.step()) {
    const size_t found = find_text(work, text, from, start);
    if (found == std::string_view::npos) {
      break;
    }
    made.add(text.substr(start, found - start));
    made.add(to);
    start = found + from.size();
    if (from.empty()) {  // between all characters
      size_t next = start;
      start < text.size() ? (void)next_character(text, next) : (void)next++;
      made.add(text.substr(start, next - start));
      start = next;
    }
    count -= count > 0 ? 1 : 0;
  }
  made.add(text.substr(std::min(start, text.size())));
  return made.value();
}

Table<Method> search_methods() {
  return table(kSearchMethods);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
