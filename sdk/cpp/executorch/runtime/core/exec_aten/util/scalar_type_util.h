// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Questions about element types. Includes the type lists (ET_FORALL_*), the dispatch (ET_SWITCH_*) and the promotion.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_forall.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_switch.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_traits.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// True for the number of a real element type: not Undefined, not out of range.
inline bool isValid(::executorch::aten::ScalarType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < static_cast<int>(aten::ScalarType::Undefined);
}

/// Name of an element type, for example "Float"; "UNKNOWN_SCALAR" for a number that is none. Static text.
const char* toString(::executorch::aten::ScalarType t);

/// Bytes of one element; aborts for a type that is not valid.
size_t elementSize(::executorch::aten::ScalarType t);

/// Integers of 8 to 64 bits that take part in promotion, and Bool when asked for.
inline constexpr bool isIntegralType(::executorch::aten::ScalarType t, bool includeBool) {
  return (includeBool && t == aten::ScalarType::Bool) || t == aten::ScalarType::Byte || t == aten::ScalarType::Char ||
         t == aten::ScalarType::Short || t == aten::ScalarType::Int || t == aten::ScalarType::Long;
}
template <typename T, bool includeBool>
struct is_integral_type : std::integral_constant<bool, isIntegralType(CppTypeToScalarType<T>::value, includeBool)> {};

/// Half, BFloat16, Float, Double.
inline constexpr bool isFloatingType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Double || t == aten::ScalarType::Float || t == aten::ScalarType::Half ||
         t == aten::ScalarType::BFloat16;
}

/// Integers, Float and Double.
inline constexpr bool isRealType(::executorch::aten::ScalarType t) {
  return isIntegralType(t, /*includeBool=*/false) || t == aten::ScalarType::Float || t == aten::ScalarType::Double;
}
inline constexpr bool isRealHType(::executorch::aten::ScalarType t) {
  return isRealType(t) || t == aten::ScalarType::Half;
}
inline constexpr bool isRealHBType(::executorch::aten::ScalarType t) {
  return isRealHType(t) || t == aten::ScalarType::Bool;
}
inline constexpr bool isRealHBF16Type(::executorch::aten::ScalarType t) {
  return isRealHType(t) || t == aten::ScalarType::BFloat16;
}
inline constexpr bool isRealHBBF16Type(::executorch::aten::ScalarType t) {
  return isRealHBType(t) || t == aten::ScalarType::BFloat16;
}

inline constexpr bool isComplexType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::ComplexHalf || t == aten::ScalarType::ComplexFloat ||
         t == aten::ScalarType::ComplexDouble;
}
template <typename T>
struct is_complex_type : std::integral_constant<bool, isComplexType(CppTypeToScalarType<T>::value)> {};

/// Bits without an interpretation.
constexpr bool isBitsType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Bits1x8 || t == aten::ScalarType::Bits2x4 || t == aten::ScalarType::Bits4x2 ||
         t == aten::ScalarType::Bits8 || t == aten::ScalarType::Bits16;
}
template <typename T>
struct is_bits_type : std::integral_constant<bool, isBitsType(CppTypeToScalarType<T>::value)> {};

/// Quantized integers.
constexpr bool isQIntType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::QInt8 || t == aten::ScalarType::QUInt8 || t == aten::ScalarType::QInt32 ||
         t == aten::ScalarType::QUInt4x2 || t == aten::ScalarType::QUInt2x4;
}
template <typename T>
struct is_qint_type : std::integral_constant<bool, isQIntType(CppTypeToScalarType<T>::value)> {};

constexpr bool isFloat8Type(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Float8_e5m2 || t == aten::ScalarType::Float8_e4m3fn ||
         t == aten::ScalarType::Float8_e5m2fnuz || t == aten::ScalarType::Float8_e4m3fnuz;
}
template <typename T>
struct is_float8_type : std::integral_constant<bool, isFloat8Type(CppTypeToScalarType<T>::value)> {};

/// Unsigned integers above 8 bits: they can be stored and cast, and do not take part in promotion with integers.
constexpr bool isBarebonesUnsignedType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::UInt16 || t == aten::ScalarType::UInt32 || t == aten::ScalarType::UInt64;
}
template <typename T>
struct is_barebones_unsigned_type
    : std::integral_constant<bool, isBarebonesUnsignedType(CppTypeToScalarType<T>::value)> {};

/// Quantized type that stores an integer type; other types stay.
inline ::executorch::aten::ScalarType toQIntType(::executorch::aten::ScalarType t) {
  switch (t) {
    case aten::ScalarType::Byte:
      return aten::ScalarType::QUInt8;
    case aten::ScalarType::Char:
      return aten::ScalarType::QInt8;
    case aten::ScalarType::Int:
      return aten::ScalarType::QInt32;
    default:
      return t;
  }
}

/// Integer type that a quantized type stores; other types stay.
inline ::executorch::aten::ScalarType toUnderlying(::executorch::aten::ScalarType t) {
  switch (t) {
    case aten::ScalarType::QUInt8:
    case aten::ScalarType::QUInt4x2:
    case aten::ScalarType::QUInt2x4:
      return aten::ScalarType::Byte;
    case aten::ScalarType::QInt8:
      return aten::ScalarType::Char;
    case aten::ScalarType::QInt32:
      return aten::ScalarType::Int;
    default:
      return t;
  }
}

/// True when `qtype` is a quantized type that stores `type`.
inline bool isUnderlying(::executorch::aten::ScalarType type, ::executorch::aten::ScalarType qtype) {
  return type == toUnderlying(qtype);
}

/// True for types with negative values. Aborts for types that have no numeric values (bits, quantized, Undefined).
bool isSignedType(::executorch::aten::ScalarType t);

}  // namespace runtime

namespace aten {
using ::executorch::runtime::elementSize;
}  // namespace aten
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::CppTypeToScalarType;
using ::executorch::runtime::elementSize;
using ::executorch::runtime::is_barebones_unsigned_type;
using ::executorch::runtime::is_bits_type;
using ::executorch::runtime::is_complex_type;
using ::executorch::runtime::is_float8_type;
using ::executorch::runtime::is_floating_point;
using ::executorch::runtime::is_integral_type;
using ::executorch::runtime::is_qint_type;
using ::executorch::runtime::is_reduced_floating_point;
using ::executorch::runtime::isBarebonesUnsignedType;
using ::executorch::runtime::isBitsType;
using ::executorch::runtime::isComplexType;
using ::executorch::runtime::isFloat8Type;
using ::executorch::runtime::isFloatingType;
using ::executorch::runtime::isIntegralType;
using ::executorch::runtime::isQIntType;
using ::executorch::runtime::isRealHBBF16Type;
using ::executorch::runtime::isRealHBF16Type;
using ::executorch::runtime::isRealHBType;
using ::executorch::runtime::isRealHType;
using ::executorch::runtime::isRealType;
using ::executorch::runtime::isSignedType;
using ::executorch::runtime::isUnderlying;
using ::executorch::runtime::isValid;
using ::executorch::runtime::ScalarTypeToCppType;
using ::executorch::runtime::toQIntType;
using ::executorch::runtime::toString;
using ::executorch::runtime::toUnderlying;
}  // namespace executor
}  // namespace torch

#include <executorch/runtime/core/exec_aten/util/scalar_type_promotion.h>
