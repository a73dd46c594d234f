// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

constexpr const char* kSpace = " \t\n\r\v\f";

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) {
    made += c == '&'    ? "&amp;"
            : c == '<'  ? "&lt;"
            : c == '>'  ? "&gt;"
            : c == '"'  ? "&#34;"
            : c == '\'' ? "&#39;"
                        : std::string(1, c);
  }
  return made;
}

std::string indented(const std::string& text, const std::string& by, bool first, bool blank) {
  std::string made;
  for (size_t start = 0, line = 0; start <= text.size(); line++) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const bool is_blank = text.find_first_not_of(kSpace, start) >= end;
    made += (line == 0 ? first : blank || !is_blank) ? by : "";
    made += text.substr(start, end - start);
    made += end < text.size() ? "\n" : "";
    start = end + 1;
  }
  return made;
}

Value number_or(const Value& input, const std::string& name, const Value& otherwise) {
  const std::string digits = stripped(input.to_text(), "", true, true);
  char* end = nullptr;
  const double number = input.is_number() ? input.as_real() : std::strtod(digits.c_str(), &end);
  if (!input.is_number() && (!input.is_string() || digits.empty() || *end != '\0')) {
    return otherwise;
  }
  if (name == "float") {
    return Value::real(number);
  }
  return input.is_integral()                                   ? Value::integer(input.as_int())
         : std::isfinite(number) && std::fabs(number) < 9.2e18 ? Value::integer(static_cast<int64_t>(number))
                                                               : otherwise;
}

}  // namespace

Value Interpreter::filter(const std::string& name, const Value& input, const Arguments& arguments, const Position& at) {
  if (failed()) {
    return {};
  }
  const auto argument = [&arguments](size_t place, const char* named, Value otherwise) {
    const Value* const given = arguments.get(place, named);
    return given != nullptr ? *given : otherwise;
  };
  if (name == "default" || name == "d") {
    const bool unless_true = argument(1, "boolean", Value::boolean(false)).truthy();
    const bool replaces = input.is_undefined() || (unless_true && !input.truthy());
    return replaces ? argument(0, "default_value", Value::text("")) : input;
  }
  if (name == "trim") {
    const Value* const set = arguments.get(0, "chars");
    return text(stripped(input.to_text(), set != nullptr && set->is_string() ? set->as_text() : "", true, true), at);
  }
  if (name == "upper") {
    return text(jinja::upper(input.to_text()), at);
  }
  if (name == "lower") {
    return text(jinja::lower(input.to_text()), at);
  }
  if (name == "title") {
    return text(jinja::title(input.to_text()), at);
  }
  if (name == "capitalize") {
    return text(jinja::capitalize(input.to_text()), at);
  }
  if (name == "string" || name == "safe") {
    return input.is_string() ? input : text(input.to_text(), at);
  }
  if (name == "escape" || name == "e") {
    return text(escaped(input.to_text()), at);
  }
  if (name == "tojson") {
    const Value indent = argument(argument(0, "", Value()).is_integral() ? 0 : 1, "indent", Value::none());
    return text(
        to_json(input, indent.is_integral() ? static_cast<int>(std::clamp<int64_t>(indent.as_int(), 0, 64)) : -1), at);
  }
  if (name == "length" || name == "count") {
    if (input.is(Type::kList)) {
      return Value::integer(static_cast<int64_t>(input.as_list().size()));
    }
    const List items = elements(input, at);
    return Value::integer(static_cast<int64_t>(items.size()));
  }
  if (name == "int" || name == "float") {
    return number_or(input, name, argument(0, "default", name == "int" ? Value::integer(0) : Value::real(0)));
  }
  if (name == "abs") {
    return input.is_number() && input.as_real() < 0 ? binary("-", Value::integer(0), input, at) : input;
  }
  if (name == "round") {
    const double scale = std::pow(10.0, argument(0, "precision", Value::integer(0)).as_real());
    return input.is_number() ? Value::real(std::nearbyint(input.as_real() * scale) / scale)
                             : fail(at, "filter 'round' needs a number");
  }
  if (name == "replace") {
    const std::string from = argument(0, "old", Value()).to_text();
    const Value count = argument(2, "count", Value::integer(-1));
    charge(input.to_text().size(), at);
    return text(replaced(input.to_text(), from, argument(1, "new", Value()).to_text(), count.as_int()), at);
  }
  if (name == "indent") {
    const Value width = argument(0, "width", Value::integer(4));
    const auto spaces = static_cast<size_t>(std::clamp<int64_t>(width.as_int(), 0, 1000));
    const std::string by = width.is_string() ? width.as_text() : std::string(spaces, ' ');
    const bool first = argument(1, "first", Value()).truthy();
    const std::string all = input.to_text();
    const auto lines = static_cast<size_t>(std::count(all.begin(), all.end(), '\n')) + 1;
    return charge(lines * by.size(), at) ? text(indented(all, by, first, argument(2, "blank", Value()).truthy()), at)
                                         : Value();
  }
  return list_filter(name, input, arguments, at);
}

Value Interpreter::list_filter(const std::string& name, const Value& input, const Arguments& arguments,
                               const Position& at) {
  if (name == "items" || name == "dictsort") {
    Value pairs;
    if (input.is_undefined()) {
      return Value::list({});
    }
    if (!method(input, "items", {}, at, pairs)) {
      return fail(at, "filter '" + name + "' needs a dictionary, found a value of type " + input.type_name());
    }
    return name == "items" ? pairs : sorted(pairs, {}, at);
  }
  if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr" || name == "map") {
    return select(name, input, arguments, at);
  }
  if (name == "sort") {
    return sorted(input, arguments, at);
  }
  if (name == "min" || name == "max" || name == "sum") {
    return folded(name, input, at);
  }
  if (name != "first" && name != "last" && name != "list" && name != "reverse" && name != "unique" && name != "join") {
    return fail(at, "unknown filter '" + name + "'");
  }
  List items = elements(input, at);
  if (failed()) {
    return {};
  }
  if (name == "first" || name == "last") {
    return items.empty() ? Value::undefined("the " + name + " element of an empty sequence")
                         : (name == "first" ? items.front() : items.back());
  }
  if (name == "list") {
    return list(std::move(items), at);
  }
  if (name == "reverse") {
    std::reverse(items.begin(), items.end());
    if (!input.is_string()) {
      return list(std::move(items), at);
    }
  }
  if (name == "unique") {
    List kept;
    for (const Value& item : items) {
      charge(kept.size(), at);
      if (!failed() && std::none_of(kept.begin(), kept.end(), [&item](const Value& k) { return k.equals(item); })) {
        kept.push_back(item);
      }
    }
    return list(std::move(kept), at);
  }
  // The others make a text: "join", and "reverse" of a string.
  const Value* const between = name == "join" ? arguments.get(0, "d") : nullptr;
  const Value* const attribute = name == "join" ? arguments.get(1, "attribute") : nullptr;
  std::string joined;
  for (size_t i = 0; i < items.size() && !failed(); i++) {
    joined += i > 0 && between != nullptr ? between->to_text() : "";
    joined += (attribute != nullptr ? by_path(items[i], *attribute, at) : items[i]).to_text();
    charge(joined.size() / (i + 1), at);
  }
  return text(std::move(joined), at);
}

/// The attribute of a name with dots, as in map(attribute="function.name").
Value Interpreter::by_path(Value value, const Value& path, const Position& at) {
  const std::string names = path.to_text();
  for (size_t start = 0; start <= names.size() && !failed();) {
    const size_t end = std::min(names.find('.', start), names.size());
    value = attribute(value, names.substr(start, end - start), at);
    start = end + 1;
  }
  return value;
}

Value Interpreter::select(const std::string& name, const Value& input, const Arguments& arguments, const Position& at) {
  const bool has_attribute = name == "selectattr" || name == "rejectattr";
  const Value* const attribute =
      name == "map" ? arguments.get(SIZE_MAX, "attribute") : (has_attribute ? arguments.get(0, "attribute") : nullptr);
  if (has_attribute && attribute == nullptr) {
    return fail(at, "filter '" + name + "' needs the name of an attribute");
  }
  const size_t place = has_attribute ? 1 : 0;  // of the test or filter
  Arguments rest;
  for (size_t i = place + 1; i < arguments.positional.size(); i++) {
    rest.positional.push_back(arguments.positional[i]);
  }
  const Value* const applied = place < arguments.positional.size() ? &arguments.positional[place] : nullptr;
  List kept;
  for (const Value& item : elements(input, at)) {
    const Value value = attribute != nullptr ? by_path(item, *attribute, at) : item;
    if (failed() || !charge(1, at)) {
      return {};
    }
    if (name == "map") {
      const Value* const otherwise = arguments.get(SIZE_MAX, "default");
      kept.push_back(applied != nullptr                             ? filter(applied->to_text(), value, rest, at)
                     : value.is_undefined() && otherwise != nullptr ? *otherwise
                                                                    : value);
      continue;
    }
    const bool holds = applied != nullptr ? test(applied->to_text(), value, rest, at) : value.truthy();
    if (holds == (name[0] == 's')) {
      kept.push_back(item);
    }
  }
  return list(std::move(kept), at);
}

Value Interpreter::sorted(const Value& input, const Arguments& arguments, const Position& at) {
  const Value* const reverse = arguments.get(0, "reverse");
  const Value* const case_sensitive = arguments.get(1, "case_sensitive");
  const Value* const attribute = arguments.get(2, "attribute");
  const bool folds = case_sensitive == nullptr || !case_sensitive->truthy();
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : elements(input, at)) {
    Value key = attribute != nullptr ? by_path(item, *attribute, at) : item;
    if (key.is(Type::kList) && !key.as_list().empty()) {
      key = key.as_list()[0];  // the pairs of dictsort
    }
    keyed.emplace_back(folds && key.is_string() ? Value::text(jinja::lower(key.as_text())) : key, item);
  }
  // A merge sort with an order that may fail: std::sort must not see an inconsistent one.
  const bool descends = reverse != nullptr && reverse->truthy();
  const bool comparable = std::all_of(keyed.begin(), keyed.end(), [&](const auto& item) {
    return (item.first.is_number() && keyed[0].first.is_number() && !std::isnan(item.first.as_real())) ||
           (item.first.is_string() && keyed[0].first.is_string());
  });
  if (!failed() && !comparable) {
    return fail(at, "only numbers, or only strings, can be sorted");
  }
  charge(keyed.size() * 8, at);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return ordered("<", descends ? b.first : a.first, descends ? a.first : b.first, at);
  });
  List items;
  for (auto& item : keyed) {
    items.push_back(std::move(item.second));
  }
  return list(std::move(items), at);
}

Value Interpreter::folded(const std::string& name, const Value& input, const Position& at) {
  const List items = elements(input, at);
  Value result = name == "sum" ? Value::integer(0) : items.empty() ? Value::undefined("of no elements") : items[0];
  for (const Value& item : items) {
    if (failed()) {
      return {};
    }
    if (name == "sum") {
      result = binary("+", result, item, at);
    } else if (ordered(name == "min" ? "<" : ">", item, result, at)) {
      result = item;
    }
  }
  return result;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
