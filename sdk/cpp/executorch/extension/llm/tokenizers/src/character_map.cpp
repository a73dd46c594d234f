// SPDX-License-Identifier: BSD-3-Clause
#include "character_map.h"

#include <utility>

#include <utf8proc.h>

#include "failure.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

// A unit of the double array: a label and the distance to its children, or a value.
bool has_value(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t value(uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}
uint32_t label(uint32_t unit) {
  return unit & 0x800000FFU;
}
size_t distance(uint32_t unit) {
  return static_cast<size_t>(unit >> 10) << ((unit & 0x200U) >> 6);
}

uint32_t read_uint32(const char* bytes) {
  uint32_t word = 0;
  for (int i = 3; i >= 0; i--) {
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return word;
}

}  // namespace

Error CharacterMap::load(std::string_view bytes) {
  const size_t size = bytes.size() < 4 ? 0 : read_uint32(bytes.data());
  if (bytes.size() < 4 || size % 4 != 0 || size == 0 || size > bytes.size() - 4) {
    return fail(Error::ParseFailure,
                "a precompiled normalisation has %zu bytes and names %zu for its trie, which does not fit",
                bytes.size(), size);
  }
  units_.resize(size / 4);
  for (size_t i = 0; i < units_.size(); i++) {
    units_[i] = read_uint32(bytes.data() + 4 + 4 * i);
  }
  replacements_ = bytes.substr(4 + size);
  if (replacements_.empty() || replacements_.back() != '\0') {
    replacements_ += '\0';
  }
  if (find_invalid_utf8(replacements_) != std::string_view::npos) {
    units_.clear();
    return fail(Error::ParseFailure, "a replacement of a precompiled normalisation is not UTF-8");
  }
  return Error::Ok;
}

template <typename Found>
void CharacterMap::prefixes(std::string_view text, size_t& steps, Found&& found) const {
  if (units_.empty()) {
    return;
  }
  size_t node = distance(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != '\0'; i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    steps++;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) {
      return;
    }
    const uint32_t unit = units_[node];
    node ^= distance(unit);
    if (node >= units_.size()) {
      return;
    }
    if (has_value(unit)) {
      const size_t offset = value(units_[node]);
      // A replacement that begins inside a character would make a text that is not UTF-8.
      if (offset >= replacements_.size() || is_continuation(replacements_[offset])) {
        return;
      }
      const std::string_view replacement(replacements_.c_str() + offset);
      steps += replacement.size();
      if (!found(i + 1, replacement)) {
        return;
      }
    }
  }
}

std::string_view CharacterMap::longest(std::string_view text, size_t& length, size_t& steps) const {
  std::string_view replacement;
  length = 0;
  prefixes(text, steps, [&](size_t size, std::string_view found) {
    // Neither may a known text end inside a character.
    if (size == text.size() || !is_continuation(text[size])) {
      length = size;
      replacement = found;
    }
    return true;
  });
  return replacement;
}

bool CharacterMap::shortest(std::string_view text, std::string_view& replacement, size_t& steps) const {
  bool any = false;
  prefixes(text, steps, [&](size_t, std::string_view found) {
    replacement = found;
    any = true;
    return false;
  });
  return any;
}

Error CharacterMap::replace_by_clusters(std::string& changed, Work& work) const {
  constexpr size_t kWholeCluster = 6;
  const std::string_view text = changed;
  NewText out(work);
  TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(text.size()));
  size_t begin = 0, steps = 0;
  while (begin < text.size()) {
    // The end of the grapheme cluster.
    size_t end = begin;
    uint32_t character = next_character(text, end);
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
      size_t next = end;
      const uint32_t following = next_character(text, next);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(character),
                                           static_cast<utf8proc_int32_t>(following), &state)) {
        break;
      }
      character = following;
      end = next;
    }
    std::string_view replacement;
    if (end - begin < kWholeCluster && shortest(text.substr(begin, end - begin), replacement, steps)) {
      TK_CHECK_OK_OR_RETURN_ERROR(out.append(replacement));
    } else {
      for (size_t at = begin; at < end;) {
        const size_t start = at;
        next_character(text, at);
        const std::string_view one = text.substr(start, at - start);
        TK_CHECK_OK_OR_RETURN_ERROR(out.append(shortest(one, replacement, steps) ? replacement : one));
      }
    }
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(std::exchange(steps, 0)));
    begin = end;
  }
  out.replace(changed);
  return Error::Ok;
}

}  // namespace tokenizers::detail
