// SPDX-License-Identifier: BSD-3-Clause
#include "characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "special_case.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

utf8proc_category_t category(uint32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool in(uint32_t character, uint32_t first, uint32_t last) {
  return character >= first && character <= last;
}

void append_all(std::string& text, const char16_t* characters) {
  for (; *characters != 0; characters++) {
    append_utf8(text, *characters);
  }
}

bool is_cased(uint32_t c) {
  return is_lower(c) || is_upper(c) || is_title(c);
}

/// Whether is_final_sigma() skips a character when it looks for the end of a word.
bool is_case_ignorable(uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x55F || c == 0x5F4 ||
             in(c, 0x2018, 0x2019) || c == 0x2024 || c == 0x2027 || c == 0xFE13 || c == 0xFE52 || c == 0xFE55 ||
             c == 0xFF07 || c == 0xFF0E || c == 0xFF1A;
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      at++;
      continue;
    }
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                         static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4)), &character);
    if (length <= 0) {
      return false;
    }
    at += static_cast<size_t>(length);
  }
  return true;
}

uint32_t next_character(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) {
    return first;
  }
  uint32_t character = first & (first < 0xE0 ? 0x1FU : first < 0xF0 ? 0x0FU : 0x07U);
  for (; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; at++) {
    character = character << 6U | (static_cast<unsigned char>(text[at]) & 0x3FU);
  }
  return character;
}

uint32_t previous_character(std::string_view text, size_t& at) {
  at--;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    at--;
  }
  size_t begin = at;
  return next_character(text, begin);
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

size_t offset_of(std::string_view text, size_t character) {
  size_t at = 0;
  for (; at < text.size(); at++) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U && character-- == 0) {
      break;
    }
  }
  return at;
}

void append_utf8(std::string& text, uint32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(std::max<utf8proc_ssize_t>(length, 0)));
}

bool is_space(uint32_t c) {
  return c == ' ' || in(c, 9, 13) || in(c, 0x1C, 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         in(c, 0x2000, 0x200A) || in(c, 0x2028, 0x2029) || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(uint32_t c) {
  return in(c, 10, 13) || in(c, 0x1C, 0x1E) || c == 0x85 || in(c, 0x2028, 0x2029);
}

bool is_alpha(uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

int decimal_digit(uint32_t c) {
  if (!is_decimal(c)) {
    return -1;
  }
  // The ten digits of a script are adjacent, and some sets of ten follow another set.
  uint32_t first = c;
  while (first > 0 && is_decimal(first - 1)) {
    first--;
  }
  return static_cast<int>((c - first) % 10);
}

bool is_digit(uint32_t c) {
  // Numeric_Type=Digit besides the decimal ones: superscripts, subscripts, circled and bracketed digits.
  return is_decimal(c) || in(c, 0xB2, 0xB3) || c == 0xB9 || in(c, 0x1369, 0x1371) || c == 0x19DA || c == 0x2070 ||
         in(c, 0x2074, 0x2079) || in(c, 0x2080, 0x2089) || in(c, 0x2460, 0x2468) || in(c, 0x2474, 0x247C) ||
         in(c, 0x2488, 0x2490) || c == 0x24EA || in(c, 0x24F5, 0x24FD) || c == 0x24FF || in(c, 0x2776, 0x277E) ||
         in(c, 0x2780, 0x2788) || in(c, 0x278A, 0x2792) || in(c, 0x10A40, 0x10A43) || in(c, 0x10E60, 0x10E68) ||
         in(c, 0x11052, 0x1105A) || in(c, 0x1F100, 0x1F10A);
}

bool is_numeric(uint32_t c) {
  // Chinese numerals, which are letters.
  static constexpr uint32_t kNumbers[] = {0x3007, 0x4E00, 0x4E03, 0x4E07, 0x4E09, 0x4E24, 0x4E5D,
                                          0x4E8C, 0x4E94, 0x4EBF, 0x5104, 0x5146, 0x516B, 0x516D,
                                          0x5341, 0x5343, 0x56DB, 0x767E, 0x842C, 0x96F6};
  const auto kind = category(c);
  return is_digit(c) || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO ||
         std::binary_search(std::begin(kNumbers), std::end(kNumbers), c);
}

bool is_alnum(uint32_t c) {
  return is_alpha(c) || is_numeric(c);
}

bool is_lower(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA || in(c, 0x2170, 0x217F) ||
         in(c, 0x24D0, 0x24E9) || in(c, 0x2B0, 0x2B8) || in(c, 0x1D2C, 0x1D6A);
}

bool is_upper(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || in(c, 0x2160, 0x216F) || in(c, 0x24B6, 0x24CF);
}

bool is_title(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool is_identifier(uint32_t c, bool begins) {
  const auto kind = category(c);
  return c == '_' || is_alpha(c) || kind == UTF8PROC_CATEGORY_NL ||
         (!begins && (kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC ||
                      kind == UTF8PROC_CATEGORY_PC));
}

void append_case(std::string& text, uint32_t c, Case target) {
  if (target == Case::kFold) {
    utf8proc_int32_t folded[4];
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 4, UTF8PROC_CASEFOLD, nullptr);
    for (utf8proc_ssize_t i = 0; i < count; i++) {
      append_utf8(text, static_cast<uint32_t>(folded[i]));
    }
    return;
  }
  const auto single = static_cast<utf8proc_int32_t>(c);
  if (target == Case::kLower) {
    return c == 0x130 ? append_all(text, u"i\x0307")
                      : append_utf8(text, static_cast<uint32_t>(utf8proc_tolower(single)));
  }
  const auto found = std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                                      [](const SpecialCase& row, uint32_t key) { return row.character < key; });
  if (found != std::end(kSpecialCases) && found->character == c) {
    return append_all(text, target == Case::kUpper ? found->upper : found->title);
  }
  append_utf8(text,
              static_cast<uint32_t>(target == Case::kUpper ? utf8proc_toupper(single) : utf8proc_totitle(single)));
}

bool is_final_sigma(std::string_view text, size_t at) {
  size_t i = at;
  bool after_letter = false;
  while (i > 0) {
    const uint32_t c = previous_character(text, i);
    if (!is_case_ignorable(c)) {
      after_letter = is_cased(c);
      break;
    }
  }
  if (!after_letter) {
    return false;
  }
  next_character(text, at);
  while (at < text.size()) {
    const uint32_t c = next_character(text, at);
    if (!is_case_ignorable(c)) {
      return !is_cased(c);
    }
  }
  return true;
}

std::string_view stripped(std::string_view text, const std::string* set, bool left, bool right) {
  const auto removed = [set](std::string_view all, size_t from, size_t to, uint32_t c) {
    return set == nullptr ? is_space(c) : set->find(all.substr(from, to - from)) != std::string::npos;
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    size_t next = begin;
    const uint32_t c = next_character(text, next);
    if (!removed(text, begin, next, c)) {
      break;
    }
    begin = next;
  }
  while (right && end > begin) {
    size_t last = end;
    const uint32_t c = previous_character(text, last);
    if (!removed(text, last, end, c)) {
      break;
    }
    end = last;
  }
  return text.substr(begin, end - begin);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
