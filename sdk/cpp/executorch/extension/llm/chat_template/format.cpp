// SPDX-License-Identifier: BSD-3-Clause
#include "format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "characters.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// Formats "..." % value.
class PercentFormatter final {
 public:
  PercentFormatter(Interpreter& in, const Value& text, const Value& value)
      : in_(in), text_(text), all_(text.as_text()), value_(value), out_(in) {
    is_mapping_ = value.is_dict() || value.is(Type::kList) || value.is(Type::kRange) || value.is_undefined();
  }

  Value run() {
    while (at_ < all_.size() && in_.step()) {
      const size_t sign = std::min(all_.find('%', at_), all_.size());
      out_.add(all_.substr(at_, sign - at_));
      at_ = sign + 1;
      if (sign < all_.size() && !conversion()) {
        return {};
      }
    }
    const size_t count = value_.is(Type::kTuple) ? value_.as_list().size() : 1;
    if (next_ < count && !is_mapping_) {
      return in_.fail("not all of the " + std::to_string(count) +
                      " values that are formatted have a place in the text");
    }
    return out_.value(text_.is_markup());
  }

 private:
  char peek() const { return at_ < all_.size() ? all_[at_] : '\0'; }

  bool next_value(Value& value) {
    const size_t count = value_.is(Type::kTuple) ? value_.as_list().size() : 1;
    if (next_ >= count) {
      in_.fail("there are fewer values to format than places in the text");
      return false;
    }
    value = value_.is(Type::kTuple) ? value_.as_list()[next_] : value_;
    next_++;
    return true;
  }

  /// A number, or * for the next value.
  bool read_number(int64_t& number) {
    if (peek() == '*') {
      at_++;
      Value value;
      return next_value(value) && in_.integer(value, "a width", number);
    }
    int64_t read = 0;
    for (; peek() >= '0' && peek() <= '9' && read < 1'000'000'000; at_++) {
      read = read * 10 + (peek() - '0');
    }
    number = read;
    return true;
  }

  /// Reads the conversion after a percent sign.
  bool conversion() {
    Value value;
    bool named = false;
    if (peek() == '(') {
      const size_t end = all_.find(')', at_);
      if (!value_.is_dict() || end == std::string_view::npos) {
        in_.fail(end == std::string_view::npos ? "a name in a format has no end: expected )"
                                               : "this format needs a dictionary");
        return false;
      }
      const std::string_view key = all_.substr(at_ + 1, end - at_ - 1);
      const Value* const found = find(in_, value_.as<DictStorage>(), key);
      if (found == nullptr) {
        in_.fail("there is no value '" + std::string(key.substr(0, 80)) + "' to format");
        return false;
      }
      value = *found;
      named = true;
      at_ = end + 1;
    }
    FormatSpec spec;
    for (bool flags = true; flags;) {
      switch (peek()) {
        case '-':
          spec.align = '<';
          break;
        case '0':
          spec.align = spec.align == '<' ? '<' : '0';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        default:
          flags = false;
      }
      at_ += flags ? 1 : 0;
    }
    if (!read_number(spec.width)) {
      return false;
    }
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -std::max<int64_t>(spec.width, -INT64_MAX);
    }
    if (peek() == '.') {
      at_++;
      if (!read_number(spec.precision)) {
        return false;
      }
      spec.precision = std::max<int64_t>(spec.precision, 0);
    }
    at_ += peek() == 'h' || peek() == 'l' || peek() == 'L' ? 1 : 0;
    const char type = peek();
    if (type == '\0') {
      in_.fail("a format ends behind its percent sign");
      return false;
    }
    at_++;
    if (type == '%') {
      return out_.add('%');
    }
    return (named || next_value(value)) && one(type, value, spec);
  }

  bool one(char type, const Value& value, FormatSpec& spec) {
    switch (type) {
      case 's':
      case 'r':
      case 'a':
        return text(type, value, spec);
      case 'c': {
        const bool is_character = value.is_string() && value.length() == 1;
        if (!is_character && !value.is_integral()) {
          in_.fail("%c needs an integer or one character");
          return false;
        }
        FormatSpec plain;
        plain.type = is_character ? '\0' : 'c';
        plain.width = spec.width;
        plain.align = spec.align == '<' ? '<' : '>';
        write_formatted(in_, out_, value, plain);
        return !in_.failed();
      }
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return integer(type, value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (!value.is_number()) {
          in_.fail(std::string("%") + type + " needs a number, found a value of type " + value.type_name());
          return false;
        }
        spec.type = type;
        spec.fill = spec.align == '0' ? "0" : " ";
        write_formatted(in_, out_, Value::real(value.as_real()), spec);
        return !in_.failed();
      default:
        in_.fail(std::string("unknown format %") + type);
        return false;
    }
  }

  bool text(char type, const Value& value, const FormatSpec& spec) {
    TextBuilder made(in_);
    type == 's'   ? write_str(in_, made, value)
    : type == 'r' ? write_repr(in_, made, value)
                  : write_ascii_repr(in_, made, value);
    Value written = made.value(type == 's' && value.is_markup());
    if (text_.is_markup()) {
      written = escaped(in_, written);
    }
    FormatSpec plain;
    plain.width = spec.width;
    plain.precision = spec.precision;
    plain.align = spec.align == '<' ? '<' : '>';
    write_formatted(in_, out_, written, plain);
    return !in_.failed();
  }

  bool integer(char type, const Value& value, FormatSpec& spec) {
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    const bool fits = value.is(Type::kFloat) && decimal && std::fabs(value.as_real()) < 9.2e18;
    if (!value.is_integral() && !fits) {
      in_.fail(std::string("%") + type + " needs an integer, found a value of type " + value.type_name());
      return false;
    }
    const int64_t number = value.is_integral() ? value.as_int() : static_cast<int64_t>(value.as_real());
    const auto bits = static_cast<uint64_t>(number);
    spec.type = decimal ? 'd' : type;
    std::string sign = number < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (spec.alternate && !decimal) {
      sign += std::string("0") + type;
    }
    std::string digits = integer_digits(number < 0 ? uint64_t{0} - bits : bits, spec);
    if (spec.precision > static_cast<int64_t>(digits.size())) {
      if (spec.precision > 1000) {
        in_.fail("a format has at most 1000 digits");
        return false;
      }
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    spec.fill = spec.align == '0' ? "0" : " ";
    write_padded(out_, sign, digits, spec);
    return !in_.failed();
  }

  Interpreter& in_;
  const Value& text_;
  std::string_view all_;
  const Value& value_;
  TextBuilder out_;
  bool is_mapping_ = false;
  size_t at_ = 0;
  size_t next_ = 0;  // index of the next value
};

}  // namespace

void write_ascii_repr(Work& work, TextBuilder& out, const Value& value) {
  TextBuilder repr(work);
  write_repr(work, repr, value);
  const std::string_view all = repr.seen();
  for (size_t at = 0; at < all.size() && !work.failed();) {
    const size_t begin = at;
    const uint32_t c = next_character(all, at);
    char escape[16];
    std::snprintf(escape, sizeof(escape),
                  c < 0x100     ? "\\x%02x"
                  : c < 0x10000 ? "\\u%04x"
                                : "\\U%08x",
                  static_cast<unsigned>(c));
    c < 0x80 ? out.add(all.substr(begin, at - begin)) : out.add(escape);
  }
}

Value format_percent(Interpreter& in, const Value& text, const Value& value) {
  return in.failed() ? Value() : PercentFormatter(in, text, value).run();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
