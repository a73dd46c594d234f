// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/device.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(static_cast<long>(etensor::DeviceType::CPU) == 0);
static_assert(static_cast<long>(etensor::DeviceType::CUDA) == 1);
static_assert(std::is_same_v<std::underlying_type_t<etensor::DeviceType>, int8_t>);
static_assert(std::is_constructible_v<etensor::Device, DeviceType, DeviceIndex>);
static_assert(std::is_constructible_v<etensor::Device, DeviceType>);
static_assert(is<DeviceType (etensor::Device::*)() const>(&etensor::Device::type));
static_assert(is<bool (etensor::Device::*)() const>(&etensor::Device::is_cpu));
static_assert(is<DeviceIndex (etensor::Device::*)() const>(&etensor::Device::index));
static_assert(is<bool (etensor::Device::*)(const Device&) const>(&etensor::Device::operator==));
static_assert(is<bool (etensor::Device::*)(const Device&) const>(&etensor::Device::operator!=));
static_assert(kNumDeviceTypes == 2 && std::is_same_v<DeviceIndex, int8_t> && std::is_same_v<Device::Type, DeviceType>);

}  // namespace surface
