// SPDX-License-Identifier: BSD-3-Clause
#include "base64.h"

#include <cstdint>

#include "failure.h"

namespace tokenizers::detail {
namespace {

int value(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

Error decode_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 4 != 0) {
    return fail(Error::Base64DecodeFailure, "base64 has %zu characters, expected a multiple of 4", text.size());
  }
  size_t size = text.size();
  for (int i = 0; i < 2 && size > 0 && text[size - 1] == '='; i++) {
    size--;
  }
  uint32_t bits = 0;
  for (size_t i = 0; i < size; i++) {
    const int six = value(text[i]);
    if (six < 0) {
      return fail(Error::Base64DecodeFailure,
                  "character %zu of base64 has the code 0x%02x, which is not in its alphabet", i,
                  static_cast<unsigned>(static_cast<unsigned char>(text[i])));
    }
    bits = bits << 6 | static_cast<uint32_t>(six);
    // Each of the last three of four characters completes a byte.
    const size_t place = i % 4;
    if (place > 0) {
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> (6 - 2 * place)));
    }
  }
  return Error::Ok;
}

}  // namespace tokenizers::detail
