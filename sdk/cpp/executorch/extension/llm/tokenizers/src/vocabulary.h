// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "compiled.h"

namespace tokenizers::detail {

inline constexpr uint32_t kNoToken = 0xFFFFFFFFU;
/// An id above it is an error of the file: models have at most some hundred thousand tokens.
inline constexpr uint64_t kLargestToken = (1U << 24) - 1;

/// The largest id that one of `count` tokens may have. Tables are as long as the largest id, so a file of a few bytes
/// must not be able to name a large one.
inline constexpr uint64_t largest_id(uint64_t count) {
  constexpr uint64_t kFew = 1U << 20;
  const uint64_t most = count < kLargestToken / 16 ? 16 * count : kLargestToken;
  return most < kFew ? kFew - 1 : most;
}

/// Mixes eight bytes at a time.
inline uint64_t hash_bytes(const char* data, size_t size) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
  uint64_t hash = size * kFactor;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 32;
  };
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, data, 8);
    mix(word);
  }
  if (size > 0) {
    uint64_t word = 0;
    std::memcpy(&word, data, size);
    mix(word);
  }
  return hash ^ hash >> 29;
}

/// Tokens by id and ids by token, without an allocation for each. Ids may have gaps.
class Vocabulary {
 public:
  /// False if the id is too large, or has another token already. A token that exists keeps its first id.
  bool add(std::string_view token, uint64_t id);
  /// The id of a token; kNoToken for an unknown one.
  uint32_t find(std::string_view token) const {
    if (slots_.empty()) {
      return kNoToken;
    }
    const uint64_t hash = hash_bytes(token.data(), token.size());
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& entry = slots_[slot];
      if (entry.id == kNoToken) {
        return kNoToken;
      }
      if (entry.tag == tag && contains(entry.id) && text(entry.id) == token) {
        return entry.id;
      }
    }
  }
  bool contains(uint64_t id) const { return id < places_.size() && places_[id].offset != kNoToken; }
  /// The text of an id that is contained.
  std::string_view text(uint64_t id) const { return {bytes_.data() + places_[id].offset, places_[id].size}; }
  /// The largest id plus one.
  size_t size() const { return places_.size(); }
  size_t count() const { return count_; }
  size_t longest() const { return longest_; }

  void write(CompiledWriter& writer) const;
  /// Error::ParseFailure if a token has no text. Entries of the hash table are checked when they are used, because most
  /// of them never are.
  Error read(CompiledReader& reader);

 private:
  struct Place {
    uint32_t offset = kNoToken;
    uint32_t size = 0;
  };
  struct Slot {
    uint32_t id = kNoToken;
    uint32_t tag = 0;
  };
  void insert(uint32_t id);

  Column<char> bytes_;
  Column<Place> places_;
  Column<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
  size_t longest_ = 0;
};

}  // namespace tokenizers::detail
