// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <cmath>

#include "characters.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

Value absolute(Interpreter& in, const Value& input, const Bound&) {
  if (!input.is_number()) {
    return in.fail(std::string("filter 'abs' needs a number, found a value of type ") + input.type_name());
  }
  return input.is(Type::kFloat) ? Value::real(std::fabs(input.as_real()))
         : input.as_int() < 0   ? in.binary("-", Value::integer(0), input)
                                : Value::integer(input.as_int());
}

/// Converts a number that int() or float() of Python can read to ASCII, without white space around and underscores
/// between digits; the digits of other scripts become 0 to 9. Empty if the text is not a number.
std::string plain_digits(std::string_view text) {
  std::string digits;
  const std::string_view inside = stripped(text, nullptr, true, true);
  bool is_behind_digit = false, is_behind_underscore = false;
  for (size_t at = 0; at < inside.size();) {
    const uint32_t character = next_character(inside, at);
    if (character == '_' && !is_behind_digit) {
      return {};
    }
    const int digit = decimal_digit(character);
    if (character > 0x7F && digit < 0) {
      return {};
    }
    const bool is_digit = digit >= 0 || is_alpha(character);
    if (is_behind_underscore && !is_digit) {
      return {};
    }
    is_behind_underscore = character == '_';
    is_behind_digit = is_digit;
    if (!is_behind_underscore) {
      digits += digit >= 0 ? static_cast<char>('0' + digit) : static_cast<char>(character);
    }
  }
  return is_behind_underscore ? std::string() : digits;
}

/// False for a text that is not an integer of the base, for bases that int() of Python refuses, and beyond 64 bits.
bool read_integer(std::string_view text, int64_t base, int64_t& number) {
  if (base < 0 || base == 1 || base > 36) {
    return false;
  }
  std::string digits = plain_digits(text);
  const bool negative = !digits.empty() && digits[0] == '-';
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    digits.erase(0, 1);
  }
  const char letter = digits.size() > 2 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int64_t prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (prefix != 0 && (base == prefix || base == 0)) {
    digits.erase(0, 2);
    base = prefix;
  }
  base = base == 0 ? 10 : base;
  const uint64_t most = (uint64_t{1} << 63) - (negative ? 0 : 1);
  uint64_t size = 0;
  for (const char c : digits) {
    const int lower = c | 0x20;
    const int64_t digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 36;
    if (digit >= base || size > (most - static_cast<uint64_t>(digit)) / static_cast<uint64_t>(base)) {
      return false;
    }
    size = size * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  number = static_cast<int64_t>(negative ? uint64_t{0} - size : size);
  return !digits.empty();
}

bool read_real(std::string_view text, double& number) {
  const std::string digits = plain_digits(text);
  std::string low = digits;
  std::transform(low.begin(), low.end(), low.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view bare =
      !low.empty() && (low[0] == '-' || low[0] == '+') ? std::string_view(low).substr(1) : low;
  const bool named = bare == "nan" || bare == "inf" || bare == "infinity";
  if (digits.empty() || (!named && low.find_first_not_of("0123456789.e+-") != std::string::npos)) {
    return false;
  }
  return read_decimal(digits, number);
}

/// The longest string that is read as a number.
constexpr size_t kLongestNumber = 400;

Value to_integer(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t base = 10;
  const Value otherwise = arguments.has(0) ? *arguments.get(0) : Value::integer(0);
  if (arguments.has(1) && !in.integer(*arguments.get(1), "the base of filter 'int'", base)) {
    return {};
  }
  if (input.is_integral()) {
    return Value::integer(input.as_int());
  }
  int64_t number = 0;
  double real = 0;
  if (input.is_undefined()) {
    return in.fail(input.hint() + " is undefined, not a number");
  }
  if (input.is_string() && input.as_text().size() <= kLongestNumber && read_integer(input.as_text(), base, number)) {
    return Value::integer(number);
  }
  if (input.is(Type::kFloat)) {
    real = input.as_real();
  } else if (!input.is_string() || input.as_text().size() > kLongestNumber || !read_real(input.as_text(), real)) {
    return otherwise;
  }
  if (!std::isfinite(real)) {
    return otherwise;
  }
  return std::fabs(real) < 9.2e18 ? Value::integer(static_cast<int64_t>(real))
                                  : in.fail("filter 'int': " + real_text(real) + " does not fit into 64 bits");
}

Value to_real(Interpreter& in, const Value& input, const Bound& arguments) {
  double real = 0;
  if (input.is_number()) {
    return Value::real(input.as_real());
  }
  if (input.is_undefined()) {
    return in.fail(input.hint() + " is undefined, not a number");
  }
  const bool is_number =
      input.is_string() && input.as_text().size() <= kLongestNumber && read_real(input.as_text(), real);
  return is_number ? Value::real(real) : arguments.has(0) ? *arguments.get(0) : Value::real(0);
}

/// Rounds the exact decimal value of the float half to even, as Python's round().
double rounded(double number, int64_t precision) {
  if (precision > 300 || !std::isfinite(number)) {
    return number;
  }
  if (precision >= 0) {
    double nearest = number;
    read_decimal(real_text(number, 'f', precision), nearest);
    return nearest;
  }
  if (precision < -308) {
    return std::copysign(0.0, number);
  }
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(number / scale) * scale;
}

/// Rounds half to even, to tens, hundreds and so on, as Python's round() of an integer. False if the result does not
/// fit into 64 bits.
bool round_integer(int64_t& number, int64_t precision) {
  uint64_t scale = 1;
  for (; precision < 0 && scale <= UINT64_MAX / 10; precision++) {
    scale *= 10;
  }
  const bool negative = number < 0;
  const uint64_t size = negative ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const uint64_t rest = precision < 0 ? size : size % scale;
  const uint64_t half = scale / 2;
  const bool up = precision == 0 && scale > 1 && (rest > half || (rest == half && size / scale % 2 == 1));
  const uint64_t rounded = size - rest + (up ? scale : 0);
  number = static_cast<int64_t>(negative ? uint64_t{0} - rounded : rounded);
  return rounded <= (uint64_t{1} << 63) - (negative ? 0 : 1);
}

Value round_number(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t precision = 0;
  const std::string method = arguments.has(1) ? soft_str(in, *arguments.get(1)).as_text() : "common";
  if (arguments.has(0) && !in.integer(*arguments.get(0), "the precision of filter 'round'", precision)) {
    return {};
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return in.fail("filter 'round' has the methods common, ceil and floor, not '" + method.substr(0, 40) + "'");
  }
  if (!input.is_number()) {
    return in.fail(std::string("filter 'round' needs a number, found a value of type ") + input.type_name());
  }
  if (method == "common") {
    if (input.is_integral()) {
      int64_t number = input.as_int();
      return round_integer(number, std::min<int64_t>(precision, 0))
                 ? Value::integer(number)
                 : in.fail("filter 'round': the result does not fit into 64 bits");
    }
    return Value::real(rounded(input.as_real(), precision));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.as_real() * scale;
  if (!std::isfinite(scaled) || !std::isfinite(scale) || scale == 0) {
    return in.fail("filter 'round': " + real_text(input.as_real()) + " cannot be rounded to " +
                   std::to_string(precision) + " digits");
  }
  // Python's floor() and ceil() return an integer, which has no negative zero.
  return Value::real(((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / scale);
}

Value sum(Interpreter& in, const Value& input, const Bound& arguments) {
  const Value items = in.elements(input);
  Value all = arguments.has(1) ? *arguments.get(1) : Value::integer(0);
  if (all.is_string()) {
    return in.fail("filter 'sum' cannot add strings: use filter 'join'");
  }
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    const Value& item = items.as_list()[i];
    all = in.binary("+", all, arguments.has_value(0) ? in.by_path(item, *arguments.get(0)) : item);
  }
  return all;
}

Value extreme(Interpreter& in, const Value& input, const Bound& arguments, const char* sign) {
  const Value items = in.elements(input);
  if (in.failed()) {
    return {};
  }
  Value best = in.undefined("an element of an empty sequence");
  Value best_key;
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    const Value& item = items.as_list()[i];
    Value key = arguments.has_value(1) ? in.by_path(item, *arguments.get(1)) : item;
    key = arguments.truthy(0) ? key : folded(in, key);
    if (i == 0 || ordered(in, sign, key, best_key)) {
      best = item;
      best_key = key;
    }
  }
  return best;
}
Value smallest(Interpreter& in, const Value& input, const Bound& arguments) {
  return extreme(in, input, arguments, "<");
}
Value largest(Interpreter& in, const Value& input, const Bound& arguments) {
  return extreme(in, input, arguments, ">");
}

Value file_size(Interpreter& in, const Value& input, const Bound& arguments) {
  double bytes = input.as_real();
  if (!input.is_number() &&
      !(input.is_string() && input.as_text().size() <= kLongestNumber && read_real(input.as_text(), bytes))) {
    return in.fail("filter 'filesizeformat' needs a number");
  }
  const bool binary = arguments.truthy(0);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) {
    return in.text("1 Byte");
  }
  if (bytes < base) {
    return in.text(real_text(std::trunc(bytes), 'f', 0) + " Bytes");
  }
  size_t i = 0;
  double unit = base * base;
  for (; i < 7 && bytes >= unit; i++) {
    unit *= base;
  }
  const char prefix = (binary ? "KMGTPEZY" : "kMGTPEZY")[i];
  return in.text(real_text(base * bytes / unit, 'f', 1) + " " + prefix + (binary ? "iB" : "B"));
}

constexpr Filter kNumberFilters[] = {
    {"abs", "", absolute},
    {"int", "default? base?", to_integer},
    {"float", "default?", to_real},
    {"round", "precision? method?", round_number},
    {"sum", "attribute? start?", sum},
    {"min", "case_sensitive? attribute?", smallest},
    {"max", "case_sensitive? attribute?", largest},
    {"filesizeformat", "binary?", file_size},
};

}  // namespace

Table<Filter> number_filters() {
  return table(kNumberFilters);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
