// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Owns memory of a device and releases it; move-only.
class DeviceMemoryBuffer final {
 public:
  /**
   * Allocates `size` bytes.
   *
   * @retval Error::NotFound no allocator is registered for the type of device.
   * @return Any error of the allocator.
   */
  static Result<DeviceMemoryBuffer> create(size_t size, etensor::DeviceType type, etensor::DeviceIndex index = 0,
                                           size_t alignment = DeviceAllocator::kDefaultAlignment);

  /// Empty.
  DeviceMemoryBuffer() = default;
  ~DeviceMemoryBuffer() { release(); }
  DeviceMemoryBuffer(DeviceMemoryBuffer&& other) noexcept { take(other); }
  DeviceMemoryBuffer& operator=(DeviceMemoryBuffer&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  DeviceMemoryBuffer(const DeviceMemoryBuffer&) = delete;
  DeviceMemoryBuffer& operator=(const DeviceMemoryBuffer&) = delete;

  /// An address of the device.
  void* data() const { return ptr_; }
  /// Bytes.
  size_t size() const { return size_; }
  /// For HierarchicalAllocator; the host must not read or write through it.
  Span<uint8_t> as_span() const { return {static_cast<uint8_t*>(ptr_), size_}; }

 private:
  DeviceMemoryBuffer(void* ptr, size_t size, DeviceAllocator* allocator, etensor::DeviceIndex index)
      : ptr_(ptr), size_(size), allocator_(allocator), index_(index) {}

  void release() {
    if (ptr_ != nullptr) {
      allocator_->deallocate(ptr_, index_);
      ptr_ = nullptr;
    }
    size_ = 0;
  }
  void take(DeviceMemoryBuffer& other) {
    ptr_ = other.ptr_;
    size_ = other.size_;
    allocator_ = other.allocator_;
    index_ = other.index_;
    other.ptr_ = nullptr;
    other.size_ = 0;
  }

  void* ptr_ = nullptr;
  size_t size_ = 0;
  DeviceAllocator* allocator_ = nullptr;
  etensor::DeviceIndex index_ = 0;
};

}  // namespace runtime
}  // namespace executorch
