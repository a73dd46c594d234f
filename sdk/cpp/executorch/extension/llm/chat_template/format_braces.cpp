// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "format.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Formats "...".format(...).
class BraceFormatter final {
 public:
  using Named = std::vector<std::pair<std::string, Value>>;
  BraceFormatter(Interpreter& in, bool markup, const std::vector<Value>& positional, const Named& named)
      : in_(in), markup_(markup), positional_(positional), named_(named) {}

  /// The specification of a field may contain fields, but these may not contain others.
  bool run(std::string_view text, TextBuilder& out, int depth) {
    for (size_t at = 0; at < text.size() && in_.step();) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out.add(text.substr(at, brace - at));
      at = brace + 1;
      if (brace >= text.size()) {
        break;
      }
      if (at < text.size() && text[at] == text[brace]) {  // a doubled brace is a literal brace
        out.add(text[brace]);
        at++;
        continue;
      }
      const size_t end = text[brace] == '{' ? end_of(text, at) : std::string_view::npos;
      if (end == std::string_view::npos) {
        in_.fail(text[brace] == '{' ? "a field of a format has no end: expected }"
                                    : "unexpected } in a format: for one, write }}");
        return false;
      }
      if (!field(text.substr(at, end - at), out, depth)) {
        return false;
      }
      at = end + 1;
    }
    return !in_.failed();
  }

 private:
  /// The position of the brace that closes the one that opened before `at`.
  static size_t end_of(std::string_view text, size_t at) {
    int open = 1;
    for (; at < text.size(); at++) {
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (open == 0) {
        return at;
      }
    }
    return std::string_view::npos;
  }

  bool field(std::string_view text, TextBuilder& out, int depth) {
    const size_t bracket = std::min(text.find('['), text.size());
    const size_t closed = bracket < text.size() ? text.find(']', bracket) : 0;
    size_t end = std::min(
        text.find_first_of(
            "!:",
            bracket < std::min(text.find_first_of("!:"), text.size()) && closed != std::string_view::npos ? closed : 0),
        text.size());
    std::string_view name = text.substr(0, end);
    char conversion = '\0';
    if (end < text.size() && text[end] == '!') {
      conversion = end + 1 < text.size() ? text[end + 1] : '?';
      end = std::min(end + 2, text.size());
      if ((end < text.size() && text[end] != ':') ||
          std::string_view("rsa").find(conversion) == std::string_view::npos) {
        in_.fail("expected !r, !s or !a in a field of a format");
        return false;
      }
    }
    TextBuilder spec(in_);
    const std::string_view inner = end < text.size() ? text.substr(end + 1) : std::string_view();
    if (depth >= 2) {
      in_.fail("fields of a format are nested deeper than 2");
      return false;
    }
    Value value;
    return find(name, value) && run(inner, spec, depth + 1) && write(value, conversion, spec.seen(), out);
  }

  /// The value of name.attribute[key].
  bool find(std::string_view name, Value& value) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    // As in jinja2's sandbox, only a field without attributes and keys gets a number.
    const bool found = end == 0 && !name.empty() ? by_name("", value) : first(name.substr(0, end), value);
    if (!found) {
      return false;
    }
    std::string_view rest = name.substr(end);
    while (!rest.empty() && !in_.failed()) {
      if (rest[0] == '[') {
        const size_t close = rest.find(']');
        if (close == std::string_view::npos || close == 1) {
          in_.fail("a field of a format has an index without end or content");
          return false;
        }
        const std::string_view key = rest.substr(1, close - 1);
        value = in_.item(value, is_number(key) ? Value::integer(std::stoll(std::string(key))) : in_.text(key));
        rest = rest.substr(close + 1);
      } else if (rest[0] == '.') {
        const size_t next = std::min(rest.find_first_of(".[", 1), rest.size());
        value = in_.attribute(value, in_.text(rest.substr(1, next - 1)));
        rest = rest.substr(next);
      } else {
        in_.fail("expected . or [ after ] in a field of a format");
      }
    }
    return !in_.failed();
  }

  bool first(std::string_view name, Value& value) {
    if (name.empty() || is_number(name)) {
      if (numbered_ == (name.empty() ? 2 : 1)) {
        in_.fail("a format mixes fields with and without numbers");
        return false;
      }
      numbered_ = name.empty() ? 1 : 2;
      const size_t place = name.empty() ? next_++ : static_cast<size_t>(std::stoll(std::string(name)));
      if (place >= positional_.size()) {
        in_.fail("there is no value " + std::to_string(place) + " to format: there are " +
                 std::to_string(positional_.size()));
        return false;
      }
      value = positional_[place];
      return true;
    }
    return by_name(name, value);
  }

  bool by_name(std::string_view name, Value& value) {
    const auto found =
        std::find_if(named_.begin(), named_.end(), [&](const auto& item) { return in_.step() && item.first == name; });
    if (found == named_.end()) {
      in_.fail("there is no value '" + std::string(name.substr(0, 80)) + "' to format");
      return false;
    }
    value = found->second;
    return true;
  }

  bool write(Value value, char conversion, std::string_view text, TextBuilder& out) {
    if (conversion != '\0') {
      TextBuilder made(in_);
      conversion == 's' ? write_str(in_, made, value)
                        : (conversion == 'r' ? write_repr(in_, made, value) : write_ascii_repr(in_, made, value));
      value = made.value();
    }
    if (markup_ && value.is_markup() && !text.empty()) {
      in_.fail("markup takes no format");
      return false;
    }
    FormatSpec spec;
    if (!read_spec(in_, text, spec)) {
      return false;
    }
    TextBuilder made(in_);
    text.empty() ? write_str(in_, made, value) : write_formatted(in_, made, value, spec);
    markup_ && !value.is_markup() ? write_escaped(out, made.seen()) : (void)out.add(made.seen());
    return !in_.failed();
  }

  Interpreter& in_;
  const bool markup_;
  const std::vector<Value>& positional_;
  const Named& named_;
  size_t next_ = 0;
  int numbered_ = 0;  // 1: fields without numbers, 2: with numbers
};

}  // namespace

Value format_braces(Interpreter& in, const Value& text, const std::vector<Value>& positional,
                    const std::vector<std::pair<std::string, Value>>& named) {
  TextBuilder made(in);
  BraceFormatter(in, text.is_markup(), positional, named).run(text.as_text(), made, 0);
  return made.value(text.is_markup());
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
