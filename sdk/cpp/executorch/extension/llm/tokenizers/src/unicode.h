// SPDX-License-Identifier: BSD-3-Clause
// Properties and normal forms of characters, from the tables of utf8proc (Unicode 17).
#pragma once

#include <cstdint>
#include <string>

#include "work.h"

namespace tokenizers::detail {

enum class NormalForm { kC, kD, kKC, kKD };

/// Puts `text`, which is valid UTF-8, and whose heap_bytes() are charged to `work`, into a normal form. Time grows as
/// n log n at worst, for a run of combining marks.
Error to_normal_form(std::string& text, NormalForm form, Work& work);

/// White_Space.
bool is_space(uint32_t character);
/// Any kind of punctuation, general category P.
bool is_punctuation(uint32_t character);
/// Like is_punctuation(), and true for the ASCII symbols $+<=>^`|~.
bool is_punctuation_or_ascii_symbol(uint32_t character);
/// General category N.
bool is_numeric(uint32_t character);
/// General category M.
bool is_mark(uint32_t character);
/// General category Mn.
bool is_nonspacing_mark(uint32_t character);
/// General category C: control, format, surrogate, private use, not assigned.
bool is_other(uint32_t character);
/// \w: letters, marks, decimal digits, connector punctuation, and the joiners.
bool is_word(uint32_t character);
/// Appends the lower case form: two characters for U+0130.
void append_lower(std::string& text, uint32_t character);

}  // namespace tokenizers::detail
