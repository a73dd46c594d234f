// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace runtime {

/**
 * Hands out memory of one buffer that the caller owns, from its start to its end; only reset() frees memory.
 *
 * Subclasses may take memory from elsewhere. Not synchronised.
 *
 *     uint8_t pool[4096];
 *     MemoryAllocator allocator(sizeof(pool), pool);
 */
class MemoryAllocator {
 public:
  /// Default alignment of allocate() in bytes.
  static constexpr size_t kDefaultAlignment = alignof(void*);

  /**
   * @param size Bytes of the buffer.
   * @param base_address Its start. Null gives an allocator of 0 bytes (logged if `size` is not 0). Must outlive
   *     everything that was allocated.
   */
  MemoryAllocator(uint32_t size, uint8_t* base_address)
      : begin_(base_address),
        end_(base_address == nullptr ? nullptr : base_address + size),
        cur_(base_address),
        size_(base_address == nullptr ? 0 : size) {
    if (base_address == nullptr && size != 0) {
      ET_LOG(Error, "a MemoryAllocator of %" PRIu32 " bytes was given no buffer: it has 0 bytes", size);
    }
  }
  MemoryAllocator(const MemoryAllocator&) = delete;
  MemoryAllocator& operator=(const MemoryAllocator&) = delete;
  MemoryAllocator(MemoryAllocator&&) = delete;
  MemoryAllocator& operator=(MemoryAllocator&&) = delete;
  virtual ~MemoryAllocator() = default;

  /**
   * @param size Bytes; 0 gives a pointer that must not be dereferenced.
   * @param alignment Bytes; a power of two.
   * @return Uninitialised memory, or null (logged) when it does not fit or the alignment is not a power of two.
   */
  // Inline, like every virtual function here: the runtime is compiled without RTTI, but a subclass that is compiled
  // with it needs the type information of this class, which its own object file then contains.
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) {
    return allocate_from_buffer(size, alignment);
  }

  /// Memory for one T without constructing it, or null.
  template <typename T>
  T* allocateInstance(size_t alignment = alignof(T)) {
    return static_cast<T*>(this->allocate(sizeof(T), alignment));
  }

  /// Memory for `size` elements without constructing them, or null; also when the number of bytes overflows.
  template <typename T>
  T* allocateList(size_t size, size_t alignment = alignof(T)) {
    return static_cast<T*>(allocate_elements(size, sizeof(T), alignment));
  }

  /// Start of the buffer.
  virtual uint8_t* base_address() const { return begin_; }
  /// Bytes of the whole buffer.
  virtual uint32_t size() const { return size_; }
  /// Bytes allocated, with the padding of alignments.
  virtual size_t used_size() const { return static_cast<size_t>(cur_ - begin_); }
  /// Bytes left.
  virtual size_t free_size() const { return static_cast<size_t>(end_ - cur_); }

  /// Frees all allocations at once: they must no longer be used.
  virtual void reset() { cur_ = begin_; }

  /// Names the allocator for the profiler; call once.
  void enable_profiling(ET_UNUSED const char* name);

 protected:
  /// Identity for the profiler, -1 when profiling is not enabled.
  int32_t prof_id() const { return prof_id_; }

  static constexpr bool isPowerOf2(size_t value) { return value > 0 && (value & (value - 1)) == 0; }

  /// Next address that is a multiple of `alignment`, a power of two. The caller checks that it lies inside its buffer.
  static inline uint8_t* alignPointer(void* ptr, size_t alignment) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(ptr);
    return reinterpret_cast<uint8_t*>((address + (alignment - 1)) & ~(static_cast<uintptr_t>(alignment) - 1));
  }

 private:
  void* allocate_from_buffer(size_t size, size_t alignment);
  void* allocate_elements(size_t count, size_t element_size, size_t alignment);

  uint8_t* const begin_;
  uint8_t* const end_;
  uint8_t* cur_;
  const uint32_t size_;
  int32_t prof_id_ = -1;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryAllocator;
}  // namespace executor
}  // namespace torch
