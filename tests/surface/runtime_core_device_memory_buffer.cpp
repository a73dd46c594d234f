// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/device_memory_buffer.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<DeviceMemoryBuffer> (*)(size_t, etensor::DeviceType, etensor::DeviceIndex, size_t)>(
    &DeviceMemoryBuffer::create));
using create_default = decltype(DeviceMemoryBuffer::create(make<size_t>(), make<etensor::DeviceType>()));
static_assert(std::is_constructible_v<DeviceMemoryBuffer>);
static_assert(std::is_destructible_v<DeviceMemoryBuffer>);
static_assert(std::is_constructible_v<DeviceMemoryBuffer, DeviceMemoryBuffer&&>);
static_assert(is<DeviceMemoryBuffer& (DeviceMemoryBuffer::*)(DeviceMemoryBuffer&&)>(&DeviceMemoryBuffer::operator=));
static_assert(is<void* (DeviceMemoryBuffer::*)() const>(&DeviceMemoryBuffer::data));
static_assert(is<size_t (DeviceMemoryBuffer::*)() const>(&DeviceMemoryBuffer::size));
static_assert(is<Span<uint8_t> (DeviceMemoryBuffer::*)() const>(&DeviceMemoryBuffer::as_span));

}  // namespace surface
