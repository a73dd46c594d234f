// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/cpu_caching_malloc_allocator.h>

#include <cstdlib>

#include <executorch/extension/memory_allocator/memory_allocator_utils.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

namespace {

size_t bin_of(size_t size) {
  size_t bits = 0;
  for (; size != 0; size >>= 1) {
    ++bits;
  }
  return bits;
}

}  // namespace

CPUCachingAllocator::CPUCachingAllocator(uint32_t max_size) : MemoryAllocator(0, nullptr), max_size_(max_size) {}

void* CPUCachingAllocator::allocate(size_t size, size_t alignment) {
  const runtime::Result<size_t> padded_size = utils::get_aligned_size(size, alignment);
  if (!padded_size.ok()) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  internal::BlockList::Block* block = cached_[bin_of(padded_size.get())].pop(padded_size.get());
  if (block != nullptr) {
    cached_size_ -= block->size;
  } else {
    block = internal::BlockList::make(padded_size.get());
  }
  if (block == nullptr) {
    ET_LOG(Error, "malloc of %zu bytes failed", padded_size.get());
    return nullptr;
  }
  used_.push(block);
  used_size_ += size;
  return alignPointer(block + 1, alignment);
}

void CPUCachingAllocator::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (internal::BlockList::Block* block = used_.pop()) {
    if (block->size <= max_size_ && cached_size_ <= max_size_ - block->size) {
      cached_size_ += block->size;
      cached_[bin_of(block->size)].push(block);
    } else {
      std::free(block);
    }
  }
  used_size_ = 0;
}

size_t CPUCachingAllocator::used_size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_size_;
}

}  // namespace extension
}  // namespace executorch
