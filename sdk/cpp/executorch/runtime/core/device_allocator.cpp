// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/device_allocator.h>

namespace executorch {
namespace runtime {
namespace {

// Constant-initialised: works from any static initialiser.
DeviceAllocatorRegistry registry;

bool is_device_type(etensor::DeviceType type) {
  return static_cast<int>(type) >= 0 && static_cast<size_t>(type) < etensor::kNumDeviceTypes;
}

}  // namespace

DeviceAllocatorRegistry& DeviceAllocatorRegistry::instance() {
  return registry;
}

void DeviceAllocatorRegistry::register_allocator(DeviceAllocator* alloc) {
  ET_CHECK_MSG(alloc != nullptr, "a null device allocator was registered");
  const etensor::DeviceType type = alloc->device_type();
  ET_CHECK_MSG(is_device_type(type), "a device allocator has the unknown device type %d", static_cast<int>(type));
  DeviceAllocator*& slot = allocators_[static_cast<size_t>(type)];
  ET_CHECK_MSG(slot == nullptr, "a device allocator (%p) for the device type %d is registered already, as %p",
               static_cast<void*>(alloc), static_cast<int>(type), static_cast<void*>(slot));
  slot = alloc;
}

DeviceAllocator* DeviceAllocatorRegistry::get_allocator(etensor::DeviceType type) {
  return is_device_type(type) ? allocators_[static_cast<size_t>(type)] : nullptr;
}

void register_device_allocator(DeviceAllocator* alloc) {
  registry.register_allocator(alloc);
}

DeviceAllocator* get_device_allocator(etensor::DeviceType type) {
  return registry.get_allocator(type);
}

}  // namespace runtime
}  // namespace executorch
