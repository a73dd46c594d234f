// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace executorch {
namespace extension {
namespace c_api {

/// `text` with '?' for each byte that is not part of a well-formed UTF-8 sequence (Unicode 15, table 3-7): messages may
/// quote names from damaged files, or be cut in the middle of a character, and some languages' readers are strict.
inline std::string valid_utf8(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(i < text.size() ? text[i] : 0); };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = byte(i);
    const uint8_t second = byte(i + 1);
    size_t length = 0;
    if (first > 0 && first < 0x80) {
      length = 1;
    } else if (first >= 0xC2 && first <= 0xDF && continues(i + 1)) {
      length = 2;
    } else if (first >= 0xE0 && first <= 0xEF && continues(i + 1) && continues(i + 2) &&
               !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F)) {
      length = 3;
    } else if (first >= 0xF0 && first <= 0xF4 && continues(i + 1) && continues(i + 2) && continues(i + 3) &&
               !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F)) {
      length = 4;
    }
    if (length == 0) {
      result += '?';
      ++i;
    } else {
      result.append(text, i, length);
      i += length;
    }
  }
  return result;
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
