// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/scalar_type.h>

#include "signatures.h"

#if !defined(ET_FORALL_SCALAR_TYPES)
#error "A macro of this header is missing."
#endif

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<decltype(etensor::unused_dtype::Float8_e5m2::x), uint8_t>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e5m2>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e5m2, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::unused_dtype::Float8_e4m3fn::x), uint8_t>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e4m3fn>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e4m3fn, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::unused_dtype::Float8_e5m2fnuz::x), uint8_t>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e5m2fnuz>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e5m2fnuz, uint8_t>);
static_assert(std::is_same_v<decltype(etensor::unused_dtype::Float8_e4m3fnuz::x), uint8_t>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e4m3fnuz>);
static_assert(std::is_constructible_v<etensor::unused_dtype::Float8_e4m3fnuz, uint8_t>);
static_assert(static_cast<long>(etensor::ScalarType::Byte) == 0);
static_assert(static_cast<long>(etensor::ScalarType::Char) == 1);
static_assert(static_cast<long>(etensor::ScalarType::Short) == 2);
static_assert(static_cast<long>(etensor::ScalarType::Int) == 3);
static_assert(static_cast<long>(etensor::ScalarType::Long) == 4);
static_assert(static_cast<long>(etensor::ScalarType::Half) == 5);
static_assert(static_cast<long>(etensor::ScalarType::Float) == 6);
static_assert(static_cast<long>(etensor::ScalarType::Double) == 7);
static_assert(static_cast<long>(etensor::ScalarType::ComplexHalf) == 8);
static_assert(static_cast<long>(etensor::ScalarType::ComplexFloat) == 9);
static_assert(static_cast<long>(etensor::ScalarType::ComplexDouble) == 10);
static_assert(static_cast<long>(etensor::ScalarType::Bool) == 11);
static_assert(static_cast<long>(etensor::ScalarType::QInt8) == 12);
static_assert(static_cast<long>(etensor::ScalarType::QUInt8) == 13);
static_assert(static_cast<long>(etensor::ScalarType::QInt32) == 14);
static_assert(static_cast<long>(etensor::ScalarType::BFloat16) == 15);
static_assert(static_cast<long>(etensor::ScalarType::QUInt4x2) == 16);
static_assert(static_cast<long>(etensor::ScalarType::QUInt2x4) == 17);
static_assert(static_cast<long>(etensor::ScalarType::Bits1x8) == 18);
static_assert(static_cast<long>(etensor::ScalarType::Bits2x4) == 19);
static_assert(static_cast<long>(etensor::ScalarType::Bits4x2) == 20);
static_assert(static_cast<long>(etensor::ScalarType::Bits8) == 21);
static_assert(static_cast<long>(etensor::ScalarType::Bits16) == 22);
static_assert(static_cast<long>(etensor::ScalarType::Float8_e5m2) == 23);
static_assert(static_cast<long>(etensor::ScalarType::Float8_e4m3fn) == 24);
static_assert(static_cast<long>(etensor::ScalarType::Float8_e5m2fnuz) == 25);
static_assert(static_cast<long>(etensor::ScalarType::Float8_e4m3fnuz) == 26);
static_assert(static_cast<long>(etensor::ScalarType::UInt16) == 27);
static_assert(static_cast<long>(etensor::ScalarType::UInt32) == 28);
static_assert(static_cast<long>(etensor::ScalarType::UInt64) == 29);
static_assert(static_cast<long>(etensor::ScalarType::Undefined) == 30);
static_assert(static_cast<long>(etensor::ScalarType::NumOptions) == 31);
static_assert(std::is_same_v<std::underlying_type_t<etensor::ScalarType>, int8_t>);
using namespace etensor::unused_dtype;  // NOLINT
static_assert(std::is_same_v<Float8_e5m2::underlying, uint8_t> && std::is_same_v<Float8_e4m3fn::underlying, uint8_t>);
static_assert(std::is_same_v<Float8_e5m2fnuz::underlying, uint8_t> &&
              std::is_same_v<Float8_e4m3fnuz::underlying, uint8_t>);

}  // namespace surface
