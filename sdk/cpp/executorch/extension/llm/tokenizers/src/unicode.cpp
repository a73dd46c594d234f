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

/// Characters below this one neither change in the form nor combine with the previous character.
bool is_unchanged_below(const std::string& text, NormalForm form) {
  // The first that the forms change: U+0300 for NFC, U+00C0 for NFD, U+00A0 for the compatibility forms.
  const unsigned char limit = form == NormalForm::kC ? 0xCC : form == NormalForm::kD ? 0xC3 : 0xC2;
  return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < limit; });
}

/// The decomposed characters of a text, charged as their number grows.
class Decomposed final {
 public:
  explicit Decomposed(Work& work) : work_(work) {}
  ~Decomposed() { work_.give_back(bytes(characters.capacity())); }
  Decomposed(const Decomposed&) = delete;
  Decomposed& operator=(const Decomposed&) = delete;

  Error make_room(size_t count) {
    const size_t size = characters.size() + count, before = characters.capacity();
    if (size > before) {
      const size_t after = std::max(size, 2 * before);
      TK_CHECK_OK_OR_RETURN_ERROR(work_.take(bytes(after)));
      characters.reserve(after);
      work_.give_back(bytes(before));
    }
    return Error::Ok;
  }

  std::vector<utf8proc_int32_t> characters;

 private:
  /// Sorting needs the same memory again.
  static size_t bytes(size_t count) { return 2 * sizeof(utf8proc_int32_t) * count; }

  Work& work_;
};

Error decompose(const std::string& text, bool compatible, Decomposed& into) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t>& characters = into.characters;
  TK_CHECK_OK_OR_RETURN_ERROR(into.make_room(text.size()));
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t parts[32];  // the longest decomposition has 18
    const auto character = static_cast<utf8proc_int32_t>(next_character(text, at));
    const utf8proc_ssize_t count = utf8proc_decompose_char(character, parts, 32, options, nullptr);
    TK_CHECK_OK_OR_RETURN_ERROR(into.make_room(32));
    if (count < 0 || count > 32) {
      characters.push_back(character);
    } else {
      characters.insert(characters.end(), parts, parts + count);
    }
  }
  // Marks after a character are sorted by their class. utf8proc's sort takes quadratic time.
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
  return Error::Ok;
}

}  // namespace

Error to_normal_form(std::string& text, NormalForm form, Work& work) {
  TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size()));
  if (is_unchanged_below(text, form)) {
    return Error::Ok;
  }
  Decomposed decomposed(work);
  TK_CHECK_OK_OR_RETURN_ERROR(decompose(text, form == NormalForm::kKC || form == NormalForm::kKD, decomposed));
  std::vector<utf8proc_int32_t>& characters = decomposed.characters;
  auto length = static_cast<utf8proc_ssize_t>(characters.size());
  if (form == NormalForm::kC || form == NormalForm::kKC) {
    length = utf8proc_normalize_utf32(characters.data(), length,
                                      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  NewText out(work);
  TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(text.size()));
  for (utf8proc_ssize_t i = 0; i < length; i++) {
    TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(4));
    append_character(out.text(), static_cast<uint32_t>(characters[static_cast<size_t>(i)]));
  }
  out.replace(text);
  return Error::Ok;
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
