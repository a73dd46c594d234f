// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/device_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_destructible_v<DeviceAllocator>);
static_assert(is<Result<void*> (DeviceAllocator::*)(size_t, etensor::DeviceIndex, size_t)>(&DeviceAllocator::allocate));
using allocate_default = decltype(make<DeviceAllocator&>().allocate(make<size_t>(), make<etensor::DeviceIndex>()));
static_assert(is<void (DeviceAllocator::*)(void*, etensor::DeviceIndex)>(&DeviceAllocator::deallocate));
static_assert(is<Error (DeviceAllocator::*)(void*, const void*, size_t, etensor::DeviceIndex)>(
    &DeviceAllocator::copy_host_to_device));
static_assert(is<Error (DeviceAllocator::*)(void*, const void*, size_t, etensor::DeviceIndex)>(
    &DeviceAllocator::copy_device_to_host));
static_assert(is<etensor::DeviceType (DeviceAllocator::*)() const>(&DeviceAllocator::device_type));
static_assert(is<DeviceAllocatorRegistry& (*)()>(&DeviceAllocatorRegistry::instance));
static_assert(is<void (DeviceAllocatorRegistry::*)(DeviceAllocator*)>(&DeviceAllocatorRegistry::register_allocator));
static_assert(
    is<DeviceAllocator* (DeviceAllocatorRegistry::*)(etensor::DeviceType)>(&DeviceAllocatorRegistry::get_allocator));
static_assert(is<void (*)(DeviceAllocator*)>(&register_device_allocator));
static_assert(is<DeviceAllocator* (*)(etensor::DeviceType)>(&get_device_allocator));
static_assert(DeviceAllocator::kDefaultAlignment == MemoryAllocator::kDefaultAlignment);

}  // namespace surface
