// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <executorch/extension/memory_allocator/block_list.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace extension {

// Containers under the names that code written for this header uses; the allocator itself needs none.
template <typename T, unsigned N>
using SmallVector = std::vector<T>;
template <typename KeyType, typename ValueType>
using FlatHashMap = std::unordered_map<KeyType, ValueType>;

/// Bytes: a cache line.
constexpr size_t kCachingAllocatorDefaultAlignment = 64;

/// A MemoryAllocator that grows, for the temporary memory of kernels: `reset()` keeps the blocks for the next requests
/// of the same size, so that a method that runs again and again asks malloc once. Thread safe.
class CPUCachingAllocator : public runtime::MemoryAllocator {
 public:
  /// @param max_size Bytes to keep for reuse at most; what is in use may be more.
  explicit CPUCachingAllocator(uint32_t max_size);
  ~CPUCachingAllocator() override = default;

  /// `size` bytes aligned to `alignment`, a power of two; null (and a log line) if they cannot be had.
  void* allocate(size_t size, size_t alignment = kCachingAllocatorDefaultAlignment) override;

  /// Takes everything back. Keeps what fits into `max_size`, frees the rest.
  void reset() override;

  /// Bytes handed out since the last reset.
  size_t used_size() const override;

 private:
  /// Free blocks are found by the number of bits of their size.
  static constexpr size_t kNumBins = sizeof(size_t) * 8 + 1;

  mutable std::mutex mutex_;
  const size_t max_size_;
  size_t used_size_ = 0;
  size_t cached_size_ = 0;
  internal::BlockList used_;
  internal::BlockList cached_[kNumBins];
};

}  // namespace extension
}  // namespace executorch
