// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>

#include <executorch/extension/memory_allocator/block_list.h>
#include <executorch/extension/memory_allocator/memory_allocator_utils.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

/// A MemoryAllocator that grows: every request is a malloc, everything is freed together by `reset()` or the
/// destructor. Not thread safe.
class MallocMemoryAllocator : public runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() : MemoryAllocator(0, nullptr) {}
  /// @param max_bytes Most bytes that may be allocated until the next reset.
  explicit MallocMemoryAllocator(size_t max_bytes) : MemoryAllocator(0, nullptr), max_bytes_(max_bytes) {}
  ~MallocMemoryAllocator() override = default;

  MallocMemoryAllocator(const MallocMemoryAllocator&) = delete;
  MallocMemoryAllocator& operator=(const MallocMemoryAllocator&) = delete;

  /// Changes the most bytes that may be allocated; existing allocations stay.
  void set_max_bytes(size_t max_bytes) { max_bytes_ = max_bytes; }

  /// `size` bytes aligned to `alignment`, a power of two; null (and a log line) if the allocation fails.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    const runtime::Result<size_t> padded_size = utils::get_aligned_size(size, alignment);
    if (!padded_size.ok()) {
      return nullptr;
    }
    if (used_size_ > max_bytes_ || size > max_bytes_ - used_size_) {
      ET_LOG(Error, "%zu bytes were requested, %zu of at most %zu are in use: the limit is set by the application",
             size, used_size_, max_bytes_);
      return nullptr;
    }
    internal::BlockList::Block* block = internal::BlockList::make(padded_size.get());
    if (block == nullptr) {
      ET_LOG(Error, "malloc of %zu bytes failed", padded_size.get());
      return nullptr;
    }
    blocks_.push(block);
    used_size_ += size;
    return alignPointer(block + 1, alignment);
  }

  /// Bytes allocated since the last reset.
  size_t used_size() const override { return used_size_; }

  /// Frees all allocations.
  void reset() override {
    blocks_.free_all();
    used_size_ = 0;
  }

 private:
  internal::BlockList blocks_;
  size_t used_size_ = 0;
  size_t max_bytes_ = std::numeric_limits<size_t>::max();
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::MallocMemoryAllocator;
}  // namespace util
}  // namespace executor
}  // namespace torch
