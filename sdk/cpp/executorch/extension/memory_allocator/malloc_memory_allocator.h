// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

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
  ~MallocMemoryAllocator() override { reset(); }

  MallocMemoryAllocator(const MallocMemoryAllocator&) = delete;
  MallocMemoryAllocator& operator=(const MallocMemoryAllocator&) = delete;

  /// `size` bytes aligned to `alignment`, a power of two; null (and a log line) if they cannot be had.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    const runtime::Result<size_t> padded_size = utils::get_aligned_size(size, alignment);
    if (!padded_size.ok()) {
      return nullptr;
    }
    void* block = std::malloc(padded_size.get());
    if (block == nullptr) {
      ET_LOG(Error, "malloc of %zu bytes failed", padded_size.get());
      return nullptr;
    }
    blocks_.push_back(block);
    used_size_ += size;
    return alignPointer(block, alignment);
  }

  /// Bytes handed out since the last reset.
  size_t used_size() const override { return used_size_; }

  /// Frees everything that was handed out.
  void reset() override {
    for (void* block : blocks_) {
      std::free(block);
    }
    blocks_.clear();
    used_size_ = 0;
  }

 private:
  std::vector<void*> blocks_;
  size_t used_size_ = 0;
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
