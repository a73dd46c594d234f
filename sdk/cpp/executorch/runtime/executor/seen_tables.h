// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace internal {

/// Some of the tables that were found right: programs refer to equal instructions and values many times. Remembers none
/// where code is to be small.
class SeenTables final {
 public:
  /// Whether the table was marked; it need not be remembered for ever.
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
