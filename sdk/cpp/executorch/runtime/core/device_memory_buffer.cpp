// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/device_memory_buffer.h>

namespace executorch {
namespace runtime {

Result<DeviceMemoryBuffer> DeviceMemoryBuffer::create(size_t size, etensor::DeviceType type, etensor::DeviceIndex index,
                                                      size_t alignment) {
  DeviceAllocator* allocator = get_device_allocator(type);
  ET_CHECK_OR_RETURN_ERROR(allocator != nullptr, NotFound,
                           "no allocator is registered for the device type %d. Link the backend of the device",
                           static_cast<int>(type));
  const Result<void*> memory = allocator->allocate(size, index, alignment);
  if (!memory.ok()) {
    return memory.error();
  }
  return DeviceMemoryBuffer(*memory, size, allocator, index);
}

}  // namespace runtime
}  // namespace executorch
