// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace etdump {
namespace internal {

/// Returns the first address from `ptr` on that is a multiple of `alignment` bytes, a power of two. It may be beyond
/// the end of the memory that `ptr` points into, so compare it with the end before use.
inline uint8_t* align_pointer(void* ptr, size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  return reinterpret_cast<uint8_t*>((address + alignment - 1) & ~(static_cast<uintptr_t>(alignment) - 1));
}

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
