// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

constexpr std::string_view kSpace = " \t\n\r\v\f";

bool is_alpha(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

template <typename Change>
std::string each(std::string text, Change change) {
  for (char& c : text) {
    c = static_cast<unsigned char>(c) < 0x80 ? static_cast<char>(change(static_cast<unsigned char>(c))) : c;
  }
  return text;
}

}  // namespace

std::string stripped(std::string_view text, std::string_view set, bool left, bool right) {
  const std::string_view removed = set.empty() ? kSpace : set;
  const size_t begin = left ? text.find_first_not_of(removed) : 0;
  const size_t last = right ? text.find_last_not_of(removed) : text.size() - 1;
  if (text.empty() || begin == std::string_view::npos || last == std::string_view::npos) {
    return "";
  }
  return std::string(text.substr(begin, last + 1 - begin));
}

std::string lower(std::string text) {
  return each(std::move(text), [](int c) { return std::tolower(c); });
}
std::string upper(std::string text) {
  return each(std::move(text), [](int c) { return std::toupper(c); });
}
std::string capitalize(std::string text) {
  text = lower(std::move(text));
  return text.empty() ? text : upper(text.substr(0, 1)) + text.substr(1);
}
std::string title(std::string text) {
  bool inside = false;
  return each(std::move(text), [&inside](int c) {
    const int made = inside ? std::tolower(c) : std::toupper(c);
    inside = is_alpha(static_cast<char>(c)) || c == '\'';
    return made;
  });
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  std::string made;
  size_t start = 0;
  while (count != 0 && start <= text.size()) {
    const size_t found = from.empty() ? start : text.find(from, start);
    if (found == std::string_view::npos) {
      break;
    }
    made += text.substr(start, found - start);
    made += to;
    start = found + from.size();
    if (from.empty()) {  // between all characters
      made += text.substr(start, 1);
      start++;
    }
    count--;
  }
  return made + std::string(text.substr(std::min(start, text.size())));
}

namespace {

/// As str.split(): at white space without a separator.
std::vector<std::string> split(std::string_view text, std::string_view separator, int64_t limit, bool from_right) {
  std::vector<std::string> parts;
  if (separator.empty()) {
    for (size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;) {
      const size_t end = limit == 0 ? std::string_view::npos : text.find_first_of(kSpace, at);
      parts.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
      at = end == std::string_view::npos ? end : text.find_first_not_of(kSpace, end);
      limit--;
    }
    return parts;
  }
  if (from_right) {
    while (limit-- != 0) {
      const size_t found = text.rfind(separator);
      if (found == std::string_view::npos) {
        break;
      }
      parts.emplace_back(text.substr(found + separator.size()));
      text = text.substr(0, found);
    }
    parts.emplace_back(text);
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  while (limit-- != 0) {
    const size_t found = text.find(separator);
    if (found == std::string_view::npos) {
      break;
    }
    parts.emplace_back(text.substr(0, found));
    text = text.substr(found + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end > 0 && text[end - 1] == '\r' ? end - 1 : end));
    text = text.substr(std::min(end + 1, text.size()));
  }
  return lines;
}

List texts(const std::vector<std::string>& parts) {
  List items;
  for (const std::string& part : parts) {
    items.push_back(Value::text(part));
  }
  return items;
}

}  // namespace

bool Interpreter::text_method(const std::string& all, const std::string& name, const Arguments& arguments,
                              const Position& at, Value& result) {
  const auto argument = [&](size_t i) { return i < arguments.positional.size() ? arguments.positional[i] : Value(); };
  const std::string first = argument(0).is_string() ? argument(0).as_text() : "";
  charge(all.size(), at);
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    result = text(stripped(all, first, name != "rstrip", name != "lstrip"), at);
  } else if (name == "split" || name == "rsplit") {
    const Value* const limit = arguments.get(1, "maxsplit");
    result = list(texts(split(all, first, limit != nullptr ? limit->as_int() : -1, name == "rsplit")), at);
  } else if (name == "splitlines") {
    result = list(texts(lines_of(all)), at);
  } else if (name == "startswith" || name == "endswith") {
    const List choices = argument(0).is_string() ? List{argument(0)} : elements(argument(0), at);
    result = Value::boolean(std::any_of(choices.begin(), choices.end(), [&](const Value& choice) {
      const std::string& part = choice.as_text();
      return part.size() <= all.size() &&
             all.compare(name == "startswith" ? 0 : all.size() - part.size(), part.size(), part) == 0;
    }));
  } else if (name == "replace") {
    const int64_t count = argument(2).is_integral() ? argument(2).as_int() : -1;
    result = text(replaced(all, first, argument(1).to_text(), count), at);
  } else if (name == "removeprefix") {
    result = text(all.compare(0, first.size(), first) == 0 ? all.substr(first.size()) : all, at);
  } else if (name == "removesuffix") {
    const bool ends = first.size() <= all.size() && all.compare(all.size() - first.size(), first.size(), first) == 0;
    result = text(ends ? all.substr(0, all.size() - first.size()) : all, at);
  } else if (name == "find" || name == "rfind" || name == "count" || name == "index") {
    int64_t count = 0;
    for (size_t i = all.find(first); name == "count" && !first.empty() && i != std::string::npos;
         i = all.find(first, i + first.size())) {
      count++;
    }
    const size_t found = name == "rfind" ? all.rfind(first) : all.find(first);
    if (name == "index" && found == std::string::npos) {
      fail(at, "the string does not contain " + argument(0).repr());
    }
    const auto place = [&] { return static_cast<int64_t>(code_points(all.substr(0, found)).size()) - 1; };
    result = Value::integer(name == "count" ? count : found == std::string::npos ? -1 : place());
  } else if (name == "join") {
    Arguments between;
    between.positional.push_back(Value::text(all));
    result = list_filter("join", argument(0), between, at);
  } else if (name == "isdigit" || name == "isalpha" || name == "isspace" || name == "isalnum") {
    result = Value::boolean(!all.empty() && std::all_of(all.begin(), all.end(), [&name](unsigned char c) {
      return (name == "isdigit"   ? std::isdigit(c)
              : name == "isalpha" ? std::isalpha(c)
              : name == "isspace" ? std::isspace(c)
                                  : std::isalnum(c)) != 0;
    }));
  } else if (name == "upper" || name == "lower" || name == "title" || name == "capitalize") {
    result = filter(name, Value::text(all), {}, at);
  } else if (name == "isupper" || name == "islower") {
    result = Value::boolean(test(name.substr(2), Value::text(all), {}, at));
  } else {
    return false;
  }
  return true;
}

bool Interpreter::method(const Value& object, const std::string& name, const Arguments& arguments, const Position& at,
                         Value& result) {
  if (object.is_string()) {
    return text_method(object.as_text(), name, arguments, at, result);
  }
  const auto argument = [&](size_t i) { return i < arguments.positional.size() ? arguments.positional[i] : Value(); };
  if (object.is(Type::kDict) && (name == "items" || name == "keys" || name == "values")) {
    List items;
    for (const Entry& entry : object.as_dict()) {
      items.push_back(name == "items"  ? Value::list({entry.first, entry.second})
                      : name == "keys" ? entry.first
                                       : entry.second);
    }
    result = list(std::move(items), at);
    return true;
  }
  if (object.is(Type::kDict) && name == "get") {
    charge(object.as_dict().size(), at);
    const Value* const found = object.find(argument(0));
    const Value* const otherwise = arguments.get(1, "default");
    result = found != nullptr ? *found : otherwise != nullptr ? *otherwise : Value::none();
    return true;
  }
  if (object.is(Type::kNamespace) && name == "cycle" && !arguments.positional.empty()) {
    if (const Value* const turn = object.find(std::string_view("index0"))) {
      result = arguments.positional[static_cast<size_t>(turn->as_int()) % arguments.positional.size()];
      return true;
    }
  }
  if (object.is(Type::kList) && (name == "index" || name == "count")) {
    const List& items = object.as_list();
    charge(items.size(), at);
    const auto equal = [&](const Value& item) { return item.equals(argument(0)); };
    const auto found = std::find_if(items.begin(), items.end(), equal);
    if (name == "index" && found == items.end()) {
      fail(at, "the list does not contain " + argument(0).repr());
    }
    result = Value::integer(name == "index" ? found - items.begin() : std::count_if(items.begin(), items.end(), equal));
    return true;
  }
  if ((object.is(Type::kList) && (name == "append" || name == "extend" || name == "insert" || name == "pop")) ||
      (object.is(Type::kDict) && (name == "update" || name == "pop" || name == "setdefault"))) {
    fail(at, "'" + name + "' is not available: values of a template do not change. Use + and namespace()");
    return true;
  }
  return false;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
