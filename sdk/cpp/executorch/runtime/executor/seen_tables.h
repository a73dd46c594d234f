// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace internal {

/// Remembers some of the tables that were found valid, because programs refer to equal instructions and values many
/// times. In builds for small code it remembers none.
class SeenTables final {
 public:
  /// Whether the table was marked. May return false for a table that was marked.
  bool has(const void* table) const {
    if constexpr (kRemembers) {
      return tables_[slot(table)] == table;
    }
    return false;
  }
  void mark(const void* table) {
    if constexpr (kRemembers) {
      tables_[slot(table)] = table;
    }
  }
  void clear() {
    if constexpr (kRemembers) {
      for (const void*& table : tables_) {
        table = nullptr;
      }
    }
  }

 private:
#ifdef __OPTIMIZE_SIZE__
  static constexpr bool kRemembers = false;
#else
  static constexpr bool kRemembers = true;
#endif
  static constexpr uint32_t kBits = kRemembers ? 8 : 1;

  static uint32_t slot(const void* table) {
    // Fibonacci hashing (Knuth).
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(table)) * 2654435769u >> (32 - kBits);
  }

  const void* tables_[1u << kBits];
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
