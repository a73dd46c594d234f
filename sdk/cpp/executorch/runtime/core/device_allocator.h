// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// Memory of one type of device. One object serves all devices of its type.
class DeviceAllocator {
 public:
  static constexpr size_t kDefaultAlignment = MemoryAllocator::kDefaultAlignment;

  virtual ~DeviceAllocator() = default;

  /**
   * @param nbytes Bytes.
   * @param index Which device.
   * @param alignment Bytes; a power of two.
   * @return An address of the device, which the host may be unable to read. Release it with deallocate().
   */
  virtual Result<void*> allocate(size_t nbytes, etensor::DeviceIndex index, size_t alignment = kDefaultAlignment) = 0;

  /// Releases memory of allocate() on the same device. Null is allowed.
  virtual void deallocate(void* ptr, etensor::DeviceIndex index) = 0;

  /// Copies; `dst` is an address of the device. Returns when the copy is done.
  virtual Error copy_host_to_device(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) = 0;
  /// Copies; `src` is an address of the device. Returns when the copy is done.
  virtual Error copy_device_to_host(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) = 0;

  virtual etensor::DeviceType device_type() const = 0;
};

/// At most one allocator for each type of device. Not synchronised; register before programs load on other threads.
class DeviceAllocatorRegistry {
 public:
  /// The registry of the process.
  static DeviceAllocatorRegistry& instance();

  /// Adds an allocator, which is not owned. Aborts for null and for a second one of the same type.
  void register_allocator(DeviceAllocator* alloc);

  /// Null when there is none.
  DeviceAllocator* get_allocator(etensor::DeviceType type);

 private:
  DeviceAllocator* allocators_[etensor::kNumDeviceTypes] = {};
};

/// DeviceAllocatorRegistry::instance().register_allocator().
void register_device_allocator(DeviceAllocator* alloc);

/// DeviceAllocatorRegistry::instance().get_allocator().
DeviceAllocator* get_device_allocator(etensor::DeviceType type);

}  // namespace runtime
}  // namespace executorch
