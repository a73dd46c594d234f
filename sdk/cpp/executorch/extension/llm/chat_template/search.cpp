// SPDX-License-Identifier: BSD-3-Clause
#include "search.h"

#include <cstring>

#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

constexpr size_t kChunk = 64;

bool stands_at(Work& work, std::string_view text, std::string_view part, size_t at) {
  for (size_t i = 0; i < part.size(); i += kChunk) {
    const std::string_view chunk = part.substr(i, kChunk);
    if (std::memcmp(text.data() + at + i, chunk.data(), chunk.size()) != 0) {
      return false;
    }
    if (!work.step()) {
      return false;
    }
  }
  return true;
}

}  // namespace

size_t find_text(Work& work, std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || part.size() > text.size() - from || work.failed()) {
    return std::string_view::npos;
  }
  if (part.empty()) {
    return from;
  }
  size_t candidates = 0;
  size_t read = from;
  for (size_t at = from; at + part.size() <= text.size(); at++) {
    at = text.find(part[0], at);
    if (at == std::string_view::npos || at + part.size() > text.size()) {
      break;
    }
    if ((++candidates % 16 == 0 || at - read > 1024) && !work.read(at - read)) {
      break;
    }
    read = at - read > 1024 || candidates % 16 == 0 ? at : read;
    if (stands_at(work, text, part, at)) {
      return at;
    }
    if (work.failed()) {
      break;
    }
  }
  work.read(text.size() - read);
  return std::string_view::npos;
}

size_t find_last_text(Work& work, std::string_view text, std::string_view part) {
  if (part.size() > text.size() || work.failed()) {
    return std::string_view::npos;
  }
  for (size_t at = text.size() - part.size() + 1; at-- > 0;) {
    if (at % 64 == 0 && !work.step()) {
      break;
    }
    if (part.empty() || (text[at] == part[0] && stands_at(work, text, part, at))) {
      return work.failed() ? std::string_view::npos : at;
    }
  }
  return std::string_view::npos;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
