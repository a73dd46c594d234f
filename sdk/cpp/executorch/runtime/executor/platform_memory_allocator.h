// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Memory from the platform layer (et_pal_allocate), given back on reset() and on destruction. The temporary allocator
/// of methods that were not given one.
class PlatformMemoryAllocator final : public MemoryAllocator {
 public:
  PlatformMemoryAllocator() : MemoryAllocator(0, nullptr) {}
  PlatformMemoryAllocator(const PlatformMemoryAllocator&) = delete;
  PlatformMemoryAllocator& operator=(const PlatformMemoryAllocator&) = delete;

  ~PlatformMemoryAllocator() override { reset(); }

  /// Returns null, after a log line, when the alignment is not a power of two or the platform has no memory left.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) {
      ET_LOG(Error, "Alignment %zu is not a power of two", alignment);
      return nullptr;
    }
    const CheckedSize total = CheckedSize(sizeof(Block)) + CheckedSize(size) + CheckedSize(alignment);
    void* memory = total.good() ? pal_allocate(static_cast<size_t>(total.value())) : nullptr;
    if (memory == nullptr) {
      ET_LOG(Error, "The platform has no %zu bytes of temporary memory; et_pal_allocate may not be implemented", size);
      return nullptr;
    }
    Block* block = static_cast<Block*>(memory);
    block->next = blocks_;
    blocks_ = block;
    return alignPointer(block + 1, alignment);
  }

  void reset() override {
    while (blocks_ != nullptr) {
      Block* next = blocks_->next;
      pal_free(blocks_);
      blocks_ = next;
    }
  }

 private:
  // Made in place, in memory of a method or program, and never deleted: without this, the virtual destructor would
  // require the heap's operator delete.
  static void operator delete(void*) {}

  struct Block {
    Block* next;
  };

  Block* blocks_ = nullptr;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
