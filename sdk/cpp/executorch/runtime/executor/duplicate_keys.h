// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace executorch {
namespace runtime {
namespace internal {

/// 64-bit FNV-1a of a NUL-terminated string.
inline uint64_t hash_key(const char* key) {
  uint64_t hash = 14695981039346656037u;
  for (; *key != '\0'; ++key) {
    hash = (hash ^ static_cast<uint8_t>(*key)) * 1099511628211u;
  }
  // The low bits choose a pass and a slot; mix the high ones into them.
  return hash ^ (hash >> 32);
}

/// Finds a key that occurs twice among `key_at(0)` ... `key_at(count - 1)` without any heap.
///
/// The keys are spread over passes by their hash; each pass sorts its share into a small table on the stack. The cost
/// is count * (1 + count / 128) hashes at most, also for hostile keys: when they crowd one pass, which random ones do
/// not, that pass ends the search.
///
/// Returns true when a key occurs twice, or when the search was given up; `*duplicate` is that key or null.
template <typename KeyAt>
bool find_duplicate_key(size_t count, KeyAt&& key_at, const char** duplicate) {
  constexpr size_t kSlots = 256;
  constexpr size_t kKeysPerPass = kSlots / 2;
  *duplicate = nullptr;
  const size_t passes = count / kKeysPerPass + 1;
  const char* table[kSlots];
  for (size_t pass = 0; pass < passes; ++pass) {
    std::memset(table, 0, sizeof(table));
    size_t used = 0;
    for (size_t i = 0; i < count; ++i) {
      const char* key = key_at(i);
      const uint64_t hash = hash_key(key);
      if (hash % passes != pass) {
        continue;
      }
      size_t slot = (hash / passes) % kSlots;
      while (table[slot] != nullptr && std::strcmp(table[slot], key) != 0) {
        slot = (slot + 1) % kSlots;
      }
      if (table[slot] != nullptr) {
        *duplicate = key;
        return true;
      }
      // One slot stays free, so that the search above ends.
      if (++used == kSlots) {
        return true;
      }
      table[slot] = key;
    }
  }
  return false;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
