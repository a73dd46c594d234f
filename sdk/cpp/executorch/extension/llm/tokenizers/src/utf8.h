// SPDX-License-Identifier: BSD-3-Clause
// UTF-8, as Unicode's table 3-7 defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tokenizers::detail {

/// The number of bytes of a character with this first byte; 0 if no character begins with it.
inline size_t utf8_length(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xC2 || first > 0xF4) {
    return 0;
  }
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// The number of bytes at `at` that are a character, or may become one if more bytes follow the text; `whole` tells
/// which. 0 if they are neither.
inline size_t utf8_prefix(std::string_view text, size_t at, bool& whole) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  whole = false;
  const size_t length = utf8_length(byte(at));
  if (length == 0) {
    return 0;
  }
  for (size_t i = 1; i < length; i++) {
    if (at + i >= text.size()) {
      return i;
    }
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
      switch (byte(at)) {
        case 0xE0:
          low = 0xA0;
          break;
        case 0xED:
          high = 0x9F;
          break;
        case 0xF0:
          low = 0x90;
          break;
        case 0xF4:
          high = 0x8F;
          break;
        default:
          break;
      }
    }
    if (byte(at + i) < low || byte(at + i) > high) {
      return 0;
    }
  }
  whole = true;
  return length;
}

/// Returns the character at `at` of a valid text, and moves `at` to the next one.
inline uint32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(at);
  if (first < 0x80) {
    at += 1;
    return first;
  }
  if (first < 0xE0) {
    at += 2;
    return (first & 0x1F) << 6 | (byte(at - 1) & 0x3F);
  }
  if (first < 0xF0) {
    at += 3;
    return (first & 0x0F) << 12 | (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
  }
  at += 4;
  return (first & 0x07) << 18 | (byte(at - 3) & 0x3F) << 12 | (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
}

inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// The position of the last character before `at` (> 0) of a valid text.
inline size_t previous_character(std::string_view text, size_t at) {
  do {
    at--;
  } while (at > 0 && is_continuation(text[at]));
  return at;
}

void append_character(std::string& text, uint32_t character);

/// The offset of the first byte that is not part of a character; npos in a valid text.
size_t find_invalid_utf8(std::string_view text);

/// The text with U+FFFD for every maximal invalid part, as Unicode recommends.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace tokenizers::detail
