// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch {
namespace extension {
namespace internal {

/// Zeroed memory aligned to a cache line. The system allocates pages of large blocks on first access.
class ZeroedBuffer final {
 public:
  static constexpr size_t kAlignment = 64;

  /// `size` bytes; `data()` is null if the allocation fails (and for 0 bytes).
  explicit ZeroedBuffer(size_t size) : size_(size) {
    if (size > 0 && size <= SIZE_MAX - kAlignment) {
      block_.reset(std::calloc(size + kAlignment, 1));
    }
  }

  uint8_t* data() const {
    const auto address = reinterpret_cast<uintptr_t>(block_.get());
    return reinterpret_cast<uint8_t*>((address + kAlignment - 1) & ~uintptr_t{kAlignment - 1});
  }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  size_t size_;
};

/// The size and the device that a method needs of a planned buffer.
struct PlannedNeed {
  size_t size;
  runtime::etensor::Device device;
};

/// The planned buffers of a method, with the allocator that passes them to the runtime. Those in CPU memory are zeroed;
/// those of other devices come from their DeviceAllocator. Must not move while a method uses it.
class PlannedBuffers final {
 public:
  using Need = PlannedNeed;

  PlannedBuffers() = default;
  PlannedBuffers(const PlannedBuffers&) = delete;
  PlannedBuffers& operator=(const PlannedBuffers&) = delete;

  /// The buffers that `meta` needs.
  static runtime::Result<std::vector<Need>> needs_of(const ET_RUNTIME_NAMESPACE::MethodMeta& meta);

  /// Allocates the buffers, except the one with index `shared` (if it exists), which uses `memory`.
  /// MemoryAllocationFailed, with the size, if one allocation fails; NotFound if a device has no DeviceAllocator; its
  /// errors.
  runtime::Error allocate(const std::vector<Need>& needs, size_t shared = SIZE_MAX, runtime::Span<uint8_t> memory = {});

  runtime::HierarchicalAllocator* allocator() { return allocator_.get(); }

 private:
  std::vector<ZeroedBuffer> buffers_;
  std::vector<runtime::DeviceMemoryBuffer> device_buffers_;
  std::vector<runtime::etensor::Device> devices_;
  std::vector<runtime::Span<uint8_t>> spans_;
  std::unique_ptr<runtime::HierarchicalAllocator> allocator_;
};

/// The planned buffer with the state that the methods of a program share.
struct SharedState final {
  ZeroedBuffer memory{0};
  /// Whether the initial values have been loaded; methods may have changed them since.
  bool is_loaded = false;
};

}  // namespace internal
}  // namespace extension
}  // namespace executorch
