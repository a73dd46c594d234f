// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/qint_types.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<decltype(etensor::qint8::val_), int8_t>);
static_assert(std::is_constructible_v<etensor::qint8>);
static_assert(std::is_constructible_v<etensor::qint8, int8_t>);
static_assert(std::is_same_v<decltype(etensor::quint8::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::quint8>);
static_assert(std::is_constructible_v<etensor::quint8, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::qint32::val_), int32_t>);
static_assert(std::is_constructible_v<etensor::qint32>);
static_assert(std::is_constructible_v<etensor::qint32, int32_t>);
static_assert(std::is_same_v<decltype(etensor::quint4x2::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::quint4x2>);
static_assert(std::is_constructible_v<etensor::quint4x2, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::quint2x4::val_), uint8_t>);
static_assert(std::is_constructible_v<etensor::quint2x4>);
static_assert(std::is_constructible_v<etensor::quint2x4, uint8_t>);
static_assert(std::is_same_v<qint8::underlying, int8_t> && std::is_same_v<quint8::underlying, uint8_t>);
static_assert(std::is_same_v<qint32::underlying, int32_t> && std::is_same_v<quint4x2::underlying, uint8_t>);
static_assert(std::is_same_v<quint2x4::underlying, uint8_t>);

}  // namespace surface
