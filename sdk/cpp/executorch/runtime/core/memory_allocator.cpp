// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/memory_allocator.h>

#include <climits>
#include <cstdint>

#include <executorch/runtime/platform/profiler.h>

namespace executorch {
namespace runtime {

void* MemoryAllocator::allocate_from_buffer(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment)) {
    ET_LOG(Error, "expected an alignment that is a power of two, found %" ET_PRIsize_t, alignment);
    return nullptr;
  }
  // Compare distances instead of addresses, because an address past the buffer could wrap around.
  const size_t padding = (alignment - (reinterpret_cast<uintptr_t>(cur_) & (alignment - 1))) & (alignment - 1);
  const size_t available = static_cast<size_t>(end_ - cur_);
  if (padding > available || size > available - padding) {
    ET_LOG(Error,
           "Memory allocation failed: %" ET_PRIsize_t " bytes aligned to %" ET_PRIsize_t " requested, %" ET_PRIsize_t
           " of %" PRIu32 " bytes are left. Give the allocator a larger buffer",
           size, alignment, available, size_);
    return nullptr;
  }
  EXECUTORCH_TRACK_ALLOCATION(prof_id_, static_cast<uint32_t>(size));
  uint8_t* start = cur_ + padding;
  cur_ = start + size;
  return start;
}

void* MemoryAllocator::allocate_elements(size_t count, size_t element_size, size_t alignment) {
  // Avoid the division if the product cannot overflow: it takes longer than the allocation.
  constexpr size_t kHalf = size_t{1} << (sizeof(size_t) * CHAR_BIT / 2);
  if ((count >= kHalf || element_size >= kHalf) && count > SIZE_MAX / element_size) {
    ET_LOG(Error, "%" ET_PRIsize_t " elements of %" ET_PRIsize_t " bytes overflow the address space", count,
           element_size);
    return nullptr;
  }
  return allocate(count * element_size, alignment);
}

void MemoryAllocator::enable_profiling(ET_UNUSED const char* name) {
  prof_id_ = EXECUTORCH_TRACK_ALLOCATOR(name);
}

}  // namespace runtime
}  // namespace executorch
