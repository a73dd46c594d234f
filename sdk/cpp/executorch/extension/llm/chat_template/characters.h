// SPDX-License-Identifier: BSD-3-Clause
// Characters as Python sees them: code points, with Unicode's properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// Whether a text is UTF-8; all texts of this engine are.
bool is_utf8(std::string_view text);
/// The character at a byte, which moves to the next one.
uint32_t next_character(std::string_view text, size_t& at);
/// The character before a byte, which moves to its beginning.
uint32_t previous_character(std::string_view text, size_t& at);
size_t count_characters(std::string_view text);
/// The offset of a character; the size of the text if there are fewer characters.
size_t offset_of(std::string_view text, size_t character);
void append_utf8(std::string& text, uint32_t character);

// Like the methods of Python's str.
bool is_space(uint32_t character);
bool is_alpha(uint32_t character);
bool is_decimal(uint32_t character);
/// The value of a decimal digit of any script; -1 for other characters.
int decimal_digit(uint32_t character);
bool is_digit(uint32_t character);
bool is_numeric(uint32_t character);
bool is_alnum(uint32_t character);
bool is_lower(uint32_t character);
bool is_upper(uint32_t character);
bool is_title(uint32_t character);
bool is_printable(uint32_t character);
/// Whether a name in a template may begin with the character, or have it inside.
bool is_identifier(uint32_t character, bool begins);
/// \n, \r, and the other line ends of splitlines().
bool is_line_end(uint32_t character);

enum class Case { kLower, kUpper, kTitle, kFold };
/// Appends a character in another case: up to three characters.
void append_case(std::string& text, uint32_t character, Case target);
/// Whether the sigma at a byte of a text ends a word, so that its lower case is another letter.
bool is_final_sigma(std::string_view text, size_t at);

/// Removes white space, or the characters of `set` if it is not null, from the ends.
std::string_view stripped(std::string_view text, const std::string* set, bool left, bool right);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
