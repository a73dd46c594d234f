// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/bits_types.h>
#include <executorch/runtime/core/portable_type/complex.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/portable_type/qint_types.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// Element types that programs may use, but no kernel computes with: the structs only store their bits.
namespace unused_dtype {

/// 8-bit float with 5 exponent and 2 mantissa bits.
struct alignas(1) Float8_e5m2 {
  uint8_t x;
  using underlying = uint8_t;
  Float8_e5m2() = default;
  explicit Float8_e5m2(uint8_t val) : x(val) {}
};

/// 8-bit float with 4 exponent and 3 mantissa bits, finite.
struct alignas(1) Float8_e4m3fn {
  uint8_t x;
  using underlying = uint8_t;
  Float8_e4m3fn() = default;
  explicit Float8_e4m3fn(uint8_t val) : x(val) {}
};

/// Float8_e5m2 without infinities and negative zero.
struct alignas(1) Float8_e5m2fnuz {
  uint8_t x;
  using underlying = uint8_t;
  Float8_e5m2fnuz() = default;
  explicit Float8_e5m2fnuz(uint8_t val) : x(val) {}
};

/// Float8_e4m3fn without negative zero.
struct alignas(1) Float8_e4m3fnuz {
  uint8_t x;
  using underlying = uint8_t;
  Float8_e4m3fnuz() = default;
  explicit Float8_e4m3fnuz(uint8_t val) : x(val) {}
};

}  // namespace unused_dtype

/// Calls _(C++ type, ScalarType name) for every element type in the order of its number, starting at 0.
// clang-format off
#define ET_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte) \
  _(int8_t, Char) \
  _(int16_t, Short) \
  _(int32_t, Int) \
  _(int64_t, Long) \
  _(::executorch::runtime::etensor::Half, Half) \
  _(float, Float) \
  _(double, Double) \
  _(::executorch::runtime::etensor::complex<::executorch::runtime::etensor::Half>, ComplexHalf) \
  _(::executorch::runtime::etensor::complex<float>, ComplexFloat) \
  _(::executorch::runtime::etensor::complex<double>, ComplexDouble) \
  _(bool, Bool) \
  _(::executorch::runtime::etensor::qint8, QInt8) \
  _(::executorch::runtime::etensor::quint8, QUInt8) \
  _(::executorch::runtime::etensor::qint32, QInt32) \
  _(::executorch::runtime::etensor::BFloat16, BFloat16) \
  _(::executorch::runtime::etensor::quint4x2, QUInt4x2) \
  _(::executorch::runtime::etensor::quint2x4, QUInt2x4) \
  _(::executorch::runtime::etensor::bits1x8, Bits1x8) \
  _(::executorch::runtime::etensor::bits2x4, Bits2x4) \
  _(::executorch::runtime::etensor::bits4x2, Bits4x2) \
  _(::executorch::runtime::etensor::bits8, Bits8) \
  _(::executorch::runtime::etensor::bits16, Bits16) \
  _(::executorch::runtime::etensor::unused_dtype::Float8_e5m2, Float8_e5m2) \
  _(::executorch::runtime::etensor::unused_dtype::Float8_e4m3fn, Float8_e4m3fn) \
  _(::executorch::runtime::etensor::unused_dtype::Float8_e5m2fnuz, Float8_e5m2fnuz) \
  _(::executorch::runtime::etensor::unused_dtype::Float8_e4m3fnuz, Float8_e4m3fnuz) \
  _(uint16_t, UInt16) \
  _(uint32_t, UInt32) \
  _(uint64_t, UInt64)
// clang-format on

/// Type of a tensor's elements. The numbers are PyTorch's and those of the program format.
enum class ScalarType : int8_t {
#define DEFINE_ENUM(unused, name) name,
  ET_FORALL_SCALAR_TYPES(DEFINE_ENUM)
#undef DEFINE_ENUM
      Undefined,
  NumOptions,
};

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::ScalarType;
}  // namespace executor
}  // namespace torch
