// SPDX-License-Identifier: BSD-3-Clause
#include "byte_level.h"

#include <array>

#include "utf8.h"

namespace tokenizers::detail {
namespace {

constexpr uint32_t kCharacters = 256 + 68;  // 68 bytes are not printable

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, kCharacters> byte{};

  Alphabet() {
    byte.fill(-1);
    uint16_t next = 256;
    for (uint16_t b = 0; b < 256; b++) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      character[b] = printable ? b : next++;
      byte[character[b]] = static_cast<int16_t>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

}  // namespace

uint32_t byte_level_character(unsigned char byte) {
  return alphabet().character[byte];
}

void append_byte_level(std::string& text, std::string_view bytes) {
  for (const char c : bytes) {
    append_character(text, byte_level_character(static_cast<unsigned char>(c)));
  }
}

bool append_byte_level_bytes(std::string& bytes, std::string_view text) {
  const size_t before = bytes.size();
  for (size_t at = 0; at < text.size();) {
    const uint32_t character = next_character(text, at);
    if (character >= kCharacters || alphabet().byte[character] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(alphabet().byte[character]);
  }
  return true;
}

}  // namespace tokenizers::detail
