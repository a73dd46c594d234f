// SPDX-License-Identifier: BSD-3-Clause
#include "unicode.h"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "utf8.h"

namespace tokenizers::detail {
namespace {

utf8proc_category_t category(uint32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool between(uint32_t character, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t found = category(character);
  return found >= first && found <= last;
}

/// No character below it changes in the form, or combines with the one before.
bool is_unchanged_below(std::string_view text, NormalForm form) {
  // The first that the forms change: U+0300 for NFC, U+00C0 for NFD, U+00A0 for the compatibility forms.
  const unsigned char limit = form == NormalForm::kC ? 0xCC : form == NormalForm::kD ? 0xC3 : 0xC2;
  return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < limit; });
}

}  // namespace

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_unchanged_below(text, form)) {
    return std::string(text);
  }
  const bool compatible = form == NormalForm::kKC || form == NormalForm::kKD;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    utf8proc_int32_t parts[32];  // the longest decomposition has 18
    const auto character = static_cast<utf8proc_int32_t>(next_character(text, at));
    const utf8proc_ssize_t count = utf8proc_decompose_char(character, parts, 32, options, nullptr);
    if (count < 0 || count > 32) {
      characters.push_back(character);
    } else {
      characters.insert(characters.end(), parts, parts + count);
    }
  }
  // Marks behind a character are ordered by their class. utf8proc's own way to do it takes quadratic time.
  const auto order = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (size_t begin = 0; begin < characters.size();) {
    if (order(characters[begin]) == 0) {
      begin++;
      continue;
    }
    size_t end = begin;
    while (end < characters.size() && order(characters[end]) != 0) {
      end++;
    }
    const auto first = characters.begin();
    std::stable_sort(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end),
                     [&](utf8proc_int32_t a, utf8proc_int32_t b) { return order(a) < order(b); });
    begin = end;
  }
  auto length = static_cast<utf8proc_ssize_t>(characters.size());
  if (form == NormalForm::kC || form == NormalForm::kKC) {
    length = utf8proc_normalize_utf32(characters.data(), length,
                                      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < length; i++) {
    append_character(out, static_cast<uint32_t>(characters[static_cast<size_t>(i)]));
  }
  return out;
}

bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(uint32_t c) {
  return between(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_punctuation_or_ascii_symbol(uint32_t c) {
  return (c < 0x80 && between(c, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO)) || is_punctuation(c);
}

bool is_numeric(uint32_t c) {
  return between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_mark(uint32_t c) {
  return between(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_nonspacing_mark(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_MN;
}

bool is_other(uint32_t c) {
  const utf8proc_category_t found = category(c);
  return found == UTF8PROC_CATEGORY_CN || found >= UTF8PROC_CATEGORY_CC;
}

bool is_word(uint32_t c) {
  const utf8proc_category_t found = category(c);
  return (found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_ND) || found == UTF8PROC_CATEGORY_NL ||
         found == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

void append_lower(std::string& text, uint32_t c) {
  if (c == 0x130) {
    text += "i\xCC\x87";
    return;
  }
  append_character(text, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

}  // namespace tokenizers::detail
