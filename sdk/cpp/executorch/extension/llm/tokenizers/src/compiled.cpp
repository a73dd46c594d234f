// SPDX-License-Identifier: BSD-3-Clause
#include "compiled.h"

#include <cstring>

#include "failure.h"

namespace tokenizers::detail {
namespace {

constexpr std::string_view kMagic = "PTETOK01";
constexpr size_t kHead = 16;   // magic, number of sections
constexpr size_t kEntry = 16;  // offset, size
constexpr uint64_t kMostSections = 64;

constexpr size_t aligned(size_t size) {
  return (size + 7) & ~size_t{7};
}

uint64_t read_u64(const char* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void append_u64(std::string& bytes, uint64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

bool is_compiled(std::string_view bytes) {
  return bytes.substr(0, kMagic.size()) == kMagic;
}

std::string CompiledWriter::bytes() const {
  std::string all(kMagic);
  append_u64(all, sections_.size());
  size_t offset = kHead + kEntry * sections_.size();
  for (const std::string& section : sections_) {
    append_u64(all, offset);
    append_u64(all, section.size());
    offset += aligned(section.size());
  }
  for (const std::string& section : sections_) {
    all += section;
    all.resize(aligned(all.size()));
  }
  return all;
}

Error CompiledReader::open(std::string_view bytes) {
  bytes_ = bytes;
  next_ = 0;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    return fail(Error::LoadFailure, "a compiled tokenizer must begin at a multiple of 8 bytes in memory");
  }
  if (!is_compiled(bytes) || bytes.size() < kHead) {
    return damaged("the header");
  }
  count_ = read_u64(bytes.data() + kMagic.size());
  if (count_ > kMostSections || bytes.size() < kHead + kEntry * count_) {
    return damaged("the number of sections");
  }
  return Error::Ok;
}

Error CompiledReader::next(std::string_view& section) {
  if (next_ == count_) {
    return damaged("the number of sections");
  }
  const char* entry = bytes_.data() + kHead + kEntry * next_++;
  const uint64_t offset = read_u64(entry), size = read_u64(entry + 8);
  if (offset % 8 != 0 || offset > bytes_.size() || size > bytes_.size() - offset) {
    return damaged("the offset of a section");
  }
  section = bytes_.substr(offset, size);
  return Error::Ok;
}

Error CompiledReader::damaged(const char* what) const {
  return fail(Error::ParseFailure, "the compiled tokenizer of %zu bytes is damaged: %s is not valid. Compile it again.",
              bytes_.size(), what);
}

}  // namespace tokenizers::detail
