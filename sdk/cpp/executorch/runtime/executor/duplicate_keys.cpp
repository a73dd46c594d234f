// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/duplicate_keys.h>

#include <executorch/runtime/core/same_text.h>
#include <cstdint>
#include <cstring>

namespace executorch {
namespace runtime {
namespace internal {
namespace {

/// 64-bit FNV-1a (Fowler, Noll, Vo) of a NUL-terminated string, folded to 32 bits, because the low bits, which choose a
/// pass and a slot, are mixed too little.
uint32_t hash_key(const char* key) {
  uint64_t hash = 14695981039346656037u;
  for (; *key != '\0'; ++key) {
    hash = (hash ^ static_cast<uint8_t>(*key)) * 1099511628211u;
  }
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

bool find_duplicate_key(size_t count, FunctionRef<const char*(size_t)> key_at, const char** duplicate) {
  constexpr size_t kSlots = 256;
  constexpr size_t kKeysPerPass = kSlots / 2;
  *duplicate = nullptr;
  const auto passes = static_cast<uint32_t>(count / kKeysPerPass + 1);
  const char* table[kSlots];
  for (uint32_t pass = 0; pass < passes; ++pass) {
    std::memset(table, 0, sizeof(table));
    size_t used = 0;
    for (size_t i = 0; i < count; ++i) {
      const char* key = key_at(i);
      const uint32_t hash = hash_key(key);
      if (hash % passes != pass) {
        continue;
      }
      size_t slot = (hash / passes) % kSlots;
      while (table[slot] != nullptr && !same_text(table[slot], key)) {
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
