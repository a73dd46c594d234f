// SPDX-License-Identifier: BSD-3-Clause
#include "string_literal.h"

#include <algorithm>
#include <cstdio>

#include "characters.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

int digit_of(char c, int base) {
  const char low = static_cast<char>(c | 0x20);
  const int value = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
  return value < base ? value : -1;
}

/// Reads up to `most` digits from `at`, and moves `at` to the position after them. Returns how many there were.
size_t read_number(std::string_view literal, size_t& at, size_t most, int base, uint32_t& number) {
  size_t count = 0;
  number = 0;
  for (; count < most && at < literal.size() && digit_of(literal[at], base) >= 0; count++, at++) {
    number = number * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit_of(literal[at], base));
  }
  return count;
}

/// The escape whose letter is at `at`.
bool one_escape(std::string_view literal, size_t& at, std::string& text, std::string& message) {
  const char c = literal[at];
  uint32_t number = 0;
  if (c >= '0' && c <= '7') {
    read_number(literal, at, 3, 8, number);
    append_utf8(text, number);
    return true;
  }
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits > 0) {
    const size_t found = read_number(literal, ++at, digits, 16, number);
    if (found < digits || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) {
      message = std::string("the escape \\") + c +
                (found < digits ? " has " + std::to_string(digits) + " hexadecimal digits" : " names no character");
      return false;
    }
    append_utf8(text, number);
    return true;
  }
  if (c == 'N') {
    message = "characters by their names (\\N) are not available: use \\u";
    return false;
  }
  const size_t begin = at;
  const uint32_t character = next_character(literal, at);
  const size_t named = std::string_view("\\'\"ntrbfav").find(c);
  if (character >= 0x80) {  // jinja2 escapes it, and keeps the backslash before it
    char escape[16];
    std::snprintf(escape, sizeof(escape),
                  character < 0x100     ? "\\x%02x"
                  : character < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                  static_cast<unsigned>(character));
    text += escape;
  } else if (named != std::string_view::npos) {
    text += "\\'\"\n\t\r\b\f\a\v"[named];
  } else if (c != '\n') {
    text += '\\';
    text.append(literal.substr(begin, at - begin));
  }
  return true;
}

}  // namespace

bool unescape(std::string_view literal, std::string& text, std::string& message) {
  text.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    const size_t escape = std::min(literal.find('\\', at), literal.size());
    text.append(literal.substr(at, escape - at));
    at = escape + 1;
    if (escape + 1 < literal.size() && !one_escape(literal, at, text, message)) {
      return false;
    }
  }
  return true;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
