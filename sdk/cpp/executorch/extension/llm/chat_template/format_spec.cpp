// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "characters.h"
#include "format.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// Upper bound of a float's digits: no float has more, and printing them takes memory that is not charged.
constexpr int64_t kMostDigits = 400;

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

bool read_digits(std::string_view text, size_t& at, int64_t& number) {
  const size_t begin = at;
  int64_t read = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 12; at++) {
    read = read * 10 + (text[at] - '0');
  }
  number = at > begin ? read : number;
  return at > begin;
}

std::string without_zeros(std::string text) {
  const size_t exponent = std::min(text.find('e'), text.size());
  const std::string tail = text.substr(exponent);
  text.resize(exponent);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
  }
  return text + tail;
}

/// Formats a float with a precision but without a type: like 'g', with at least one digit after the point.
std::string plain_real(double size, int64_t precision) {
  precision = std::max<int64_t>(precision, 1);
  const std::string scientific = real_text(size, 'e', precision - 1);
  const int64_t exponent = std::stoll(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= precision - 1) {
    if (size != 0 && (exponent < -4 || exponent > precision - 2)) {
      return exponent == 0
                 ? without_zeros(scientific.substr(0, scientific.find('e'))) + (precision == 1 ? "e+00" : ".0")
                 : without_zeros(scientific);
    }
  }
  const std::string made = real_text(size, 'g', precision);
  return made.find_first_of(".e") == std::string::npos ? made + ".0" : made;
}

std::string grouped(const std::string& digits, char separator, size_t every) {
  const size_t end = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string made;
  for (size_t i = 0; i < end; i++) {
    made += i > 0 && (end - i) % every == 0 ? std::string(1, separator) : std::string();
    made += digits[i];
  }
  return made + digits.substr(end);
}

void write_text(Work& work, TextBuilder& out, std::string_view text, const FormatSpec& spec) {
  if ((spec.type != '\0' && spec.type != 's') || spec.align == '=' || spec.sign != '-' || spec.no_negative_zero ||
      spec.alternate || spec.grouping != '\0') {
    work.fail("this format is not for strings");
    return;
  }
  if (!work.read(text.size())) {
    return;
  }
  text = spec.precision >= 0 ? text.substr(0, offset_of(text, static_cast<size_t>(spec.precision))) : text;
  const auto length = static_cast<int64_t>(count_characters(text));
  const auto missing = static_cast<uint64_t>(std::max<int64_t>(spec.width - length, 0));
  const uint64_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  out.repeat(spec.fill, left);
  out.add(text);
  out.repeat(spec.fill, missing - left);
}

bool is_real_type(char type) {
  return std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

}  // namespace

bool read_spec(Work& work, std::string_view text, FormatSpec& spec) {
  size_t at = 0;
  bool has_fill = false;
  if (!text.empty()) {
    size_t second = 0;
    next_character(text, second);
    if (second < text.size() && is_align(text[second])) {
      has_fill = true;
      spec.fill = text.substr(0, second);
      spec.align = text[second];
      at = second + 1;
    } else if (is_align(text[0])) {
      spec.align = text[at++];
    }
  }
  const auto sees = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  if (sees("+- ")) {
    spec.sign = text[at++];
  }
  if (sees("z")) {
    spec.no_negative_zero = true;
    at++;
  }
  if (sees("#")) {
    spec.alternate = true;
    at++;
  }
  if (sees("0")) {
    spec.fill = has_fill ? spec.fill : "0";
    spec.align = spec.align == '\0' ? '0' : spec.align;  // '=' for numbers, '<' for strings
    at++;
  }
  read_digits(text, at, spec.width);
  if (sees(",_")) {
    spec.grouping = text[at++];
  }
  if (sees(".")) {
    at++;
    if (!read_digits(text, at, spec.precision)) {
      work.fail("the format '" + std::string(text.substr(0, 40)) + "' has no digits behind its point");
      return false;
    }
  }
  if (at < text.size() && std::string_view("bcdeEfFgGnosxX%").find(text[at]) != std::string_view::npos) {
    spec.type = text[at++];
  }
  if (at < text.size()) {
    work.fail("'" + std::string(text.substr(0, 40)) + "' is not a format");
    return false;
  }
  return true;
}

std::string integer_digits(uint64_t size, const FormatSpec& spec) {
  const unsigned base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  std::string digits;
  do {
    digits += (spec.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[size % base];
    size /= base;
  } while (size > 0);
  std::reverse(digits.begin(), digits.end());
  return spec.grouping != '\0' ? grouped(digits, spec.grouping, base == 10 ? 3 : 4) : digits;
}

std::string real_digits(double size, const FormatSpec& spec) {
  const char type = spec.type == 'n' ? 'g' : spec.type;
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (std::isnan(size) || std::isinf(size)) {
    const std::string made = std::isnan(size) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    return made + (type == '%' ? "%" : "");
  }
  std::string digits;
  if (type == '\0') {
    digits = spec.precision < 0 ? real_text(size) : plain_real(size, spec.precision);
  } else if (type == '%') {
    digits = real_text(size * 100, 'f', spec.precision < 0 ? 6 : spec.precision) + "%";
  } else {
    digits = real_text(size, type, spec.precision < 0 ? 6 : spec.precision);
  }
  return spec.grouping != '\0' ? grouped(digits, spec.grouping, 3) : digits;
}

void write_padded(TextBuilder& out, std::string_view sign, std::string_view digits, const FormatSpec& spec) {
  const auto length = static_cast<int64_t>(sign.size() + digits.size());
  const auto missing = static_cast<uint64_t>(std::max<int64_t>(spec.width - length, 0));
  const char align = spec.align == '\0' ? '>' : spec.align;
  const bool inside = align == '=' || align == '0';
  const uint64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  inside ? (void)out.add(sign) : (void)out.repeat(spec.fill, left);
  inside ? (void)out.repeat(spec.fill, left) : (void)out.add(sign);
  out.add(digits);
  out.repeat(spec.fill, missing - left);
}

void write_formatted(Work& work, TextBuilder& out, const Value& value, const FormatSpec& spec) {
  if (value.is_string()) {
    FormatSpec of_text = spec;
    of_text.align = spec.align == '0' ? '<' : spec.align;
    return write_text(work, out, value.as_text(), of_text);
  }
  if (!value.is_number()) {
    work.fail(std::string("a value of type ") + value.type_name() + " takes no format");
    return;
  }
  if (spec.precision > kMostDigits) {
    work.fail("a format has at most " + std::to_string(kMostDigits) + " digits behind its point");
    return;
  }
  const bool is_real = value.is(Type::kFloat) || is_real_type(spec.type);
  if (spec.type == 's' ||
      (value.is(Type::kFloat) && spec.type != '\0' && spec.type != 'n' && !is_real_type(spec.type)) ||
      (!is_real && (spec.precision >= 0 || spec.no_negative_zero)) || (is_real && spec.alternate)) {
    work.fail(std::string("this format is not for a value of type ") + value.type_name());
    return;
  }
  if (spec.type == 'c') {
    std::string character;
    const int64_t code = value.as_int();
    if (code < 0 || code >= 0x110000 || (code >= 0xD800 && code < 0xE000)) {  // UTF-8 cannot encode surrogates
      work.fail("there is no character of the number " + std::to_string(code));
      return;
    }
    append_utf8(character, static_cast<uint32_t>(code));
    FormatSpec of_text = spec;
    of_text.type = '\0';
    of_text.align = spec.align == '<' || spec.align == '^' ? spec.align : '>';
    return write_text(work, out, character, of_text);
  }
  const bool negative = is_real ? std::signbit(value.as_real()) && !std::isnan(value.as_real()) : value.as_int() < 0;
  const std::string positive = spec.sign == '-' ? "" : std::string(1, spec.sign);
  std::string sign = negative ? "-" : positive;
  if (is_real) {
    const std::string digits = real_digits(std::fabs(value.as_real()), spec);
    const bool is_zero = digits.find_first_of("123456789nN") == std::string::npos;  // neither nan nor inf
    return write_padded(out, is_zero && negative && spec.no_negative_zero ? positive : sign, digits, spec);
  }
  const auto bits = static_cast<uint64_t>(value.as_int());
  if (spec.alternate && std::string_view("boxX").find(spec.type) != std::string_view::npos && spec.type != '\0') {
    sign += std::string("0") + spec.type;
  }
  write_padded(out, sign, integer_digits(negative ? uint64_t{0} - bits : bits, spec), spec);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
