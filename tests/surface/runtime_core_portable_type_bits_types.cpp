// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/bits_types.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<decltype(etensor::bits1x8::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::bits1x8>);
static_assert(std::is_constructible_v<etensor::bits1x8, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::bits2x4::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::bits2x4>);
static_assert(std::is_constructible_v<etensor::bits2x4, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::bits4x2::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::bits4x2>);
static_assert(std::is_constructible_v<etensor::bits4x2, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::bits8::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::bits8>);
static_assert(std::is_constructible_v<etensor::bits8, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::bits16::val_), uint16_t>);
static_assert(std::is_constructible_v<etensor::bits16>);
static_assert(std::is_constructible_v<etensor::bits16, uint16_t>);
using Underlying = etensor::bits1x8::underlying;
using Underlying2 = etensor::bits2x4::underlying;
using Underlying4 = etensor::bits4x2::underlying;

}  // namespace surface
