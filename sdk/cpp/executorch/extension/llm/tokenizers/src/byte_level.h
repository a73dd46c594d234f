// SPDX-License-Identifier: BSD-3-Clause
// The alphabet in which byte-level vocabularies are written: a printable character for every byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tokenizers::detail {

/// The character for a byte: the same character if it is printable in Latin-1, otherwise one from U+0100 on.
uint32_t byte_level_character(unsigned char byte);
/// Appends the characters of bytes.
void append_byte_level(std::string& text, std::string_view bytes);
/// Appends the bytes of characters. Returns false, and does not change `bytes`, if a character has no byte.
bool append_byte_level_bytes(std::string& bytes, std::string_view text);

}  // namespace tokenizers::detail
