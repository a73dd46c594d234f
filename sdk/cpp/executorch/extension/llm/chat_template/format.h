// SPDX-License-Identifier: BSD-3-Clause
// Python's two ways of formatting: "%s" % value, and "{}".format(value).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// The format of a value: [[fill]align][sign][z][#][0][width][grouping][.precision][type].
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';
  bool no_negative_zero = false;
  bool alternate = false;
  int64_t width = 0;
  char grouping = '\0';
  int64_t precision = -1;
  char type = '\0';
};

/// text % value.
Value format_percent(Interpreter& in, const Value& text, const Value& value);
/// text.format(*positional, **named).
Value format_braces(Interpreter& in, const Value& text, const std::vector<Value>& positional,
                    const std::vector<std::pair<std::string, Value>>& named);

/// repr() with escapes for characters that are not ASCII.
void write_ascii_repr(Work& work, TextBuilder& out, const Value& value);
/// Parses a format specification. It is an error if it is invalid.
bool read_spec(Work& work, std::string_view text, FormatSpec& spec);
/// Writes a value as format(value, spec) does.
void write_formatted(Work& work, TextBuilder& out, const Value& value, const FormatSpec& spec);
/// The digits of a number without sign and padding: of integers in the base of the type, of floats with the precision.
std::string integer_digits(uint64_t size, const FormatSpec& spec);
std::string real_digits(double size, const FormatSpec& spec);
/// A number with its sign and prefix, padded.
void write_padded(TextBuilder& out, std::string_view sign, std::string_view digits, const FormatSpec& spec);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
