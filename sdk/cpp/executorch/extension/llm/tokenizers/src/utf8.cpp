// SPDX-License-Identifier: BSD-3-Clause
#include "utf8.h"

#include <cstring>

namespace tokenizers::detail {

void append_character(std::string& text, uint32_t character) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  } else {
    put(0xF0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3F));
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  }
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (at + sizeof(eight) <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080U) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    bool whole = false;
    const size_t length = utf8_prefix(text, at, whole);
    if (!whole) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t invalid = find_invalid_utf8(text.substr(at));
    if (invalid == std::string_view::npos) {
      out += text.substr(at);
      break;
    }
    out += text.substr(at, invalid);
    at += invalid;
    append_character(out, 0xFFFD);
    // The longest valid beginning of a character counts as one error: the rest starts at the first byte that does not
    // fit.
    size_t end = at + 1;
    bool whole = false;
    while (end < text.size() && utf8_prefix(text.substr(at, end + 1 - at), 0, whole) == end + 1 - at && !whole) {
      end++;
    }
    at = end;
  }
  return out;
}

}  // namespace tokenizers::detail
