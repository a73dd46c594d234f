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
/// of the same size, so only the first of many runs of a method calls malloc. Thread safe.
class CPUCachingAllocator : public runtime::MemoryAllocator {
 public:
  /// @param max_size Most bytes to keep for reuse; blocks in use are not counted.
  explicit CPUCachingAllocator(uint32_t max_size);
  ~CPUCachingAllocator() override = default;

  /// `size` bytes aligned to `alignment`, a power of two; null (and a log line) if the allocation fails.
  void* allocate(size_t size, size_t alignment = kCachingAllocatorDefaultAlignment) override;

  /// Ends the use of all blocks. Keeps up to `max_size` bytes for reuse and frees the rest.
  void reset() override;

  /// Bytes allocated since the last reset.
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
