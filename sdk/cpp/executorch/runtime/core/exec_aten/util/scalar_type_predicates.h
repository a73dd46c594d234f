// SPDX-License-Identifier: BSD-3-Clause
// Compile-time properties of element types that PyTorch also has. Included by scalar_type_util.h.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Integers of 8 to 64 bits that take part in promotion, and Bool if `includeBool`.
constexpr bool isIntegralType(::executorch::aten::ScalarType t, bool includeBool) {
  return (includeBool && t == aten::ScalarType::Bool) || t == aten::ScalarType::Byte || t == aten::ScalarType::Char ||
         t == aten::ScalarType::Short || t == aten::ScalarType::Int || t == aten::ScalarType::Long;
}

/// Half, BFloat16, Float, Double.
constexpr bool isFloatingType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Double || t == aten::ScalarType::Float || t == aten::ScalarType::Half ||
         t == aten::ScalarType::BFloat16;
}

constexpr bool isComplexType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::ComplexHalf || t == aten::ScalarType::ComplexFloat ||
         t == aten::ScalarType::ComplexDouble;
}

/// Bits without an interpretation.
constexpr bool isBitsType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Bits1x8 || t == aten::ScalarType::Bits2x4 || t == aten::ScalarType::Bits4x2 ||
         t == aten::ScalarType::Bits8 || t == aten::ScalarType::Bits16;
}

/// Quantized integers.
constexpr bool isQIntType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::QInt8 || t == aten::ScalarType::QUInt8 || t == aten::ScalarType::QInt32 ||
         t == aten::ScalarType::QUInt4x2 || t == aten::ScalarType::QUInt2x4;
}

constexpr bool isFloat8Type(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::Float8_e5m2 || t == aten::ScalarType::Float8_e4m3fn ||
         t == aten::ScalarType::Float8_e5m2fnuz || t == aten::ScalarType::Float8_e4m3fnuz;
}

/// Unsigned integers above 8 bits: they can be stored and cast, and do not take part in promotion with integers.
constexpr bool isBarebonesUnsignedType(::executorch::aten::ScalarType t) {
  return t == aten::ScalarType::UInt16 || t == aten::ScalarType::UInt32 || t == aten::ScalarType::UInt64;
}

/// Quantized type that stores an integer type; other types are returned unchanged.
constexpr ::executorch::aten::ScalarType toQIntType(::executorch::aten::ScalarType t) {
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

/// Integer type that a quantized type stores; other types are returned unchanged.
constexpr ::executorch::aten::ScalarType toUnderlying(::executorch::aten::ScalarType t) {
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

/// True when `type` is toUnderlying(qtype).
constexpr bool isUnderlying(::executorch::aten::ScalarType type, ::executorch::aten::ScalarType qtype) {
  return type == internal::toUnderlying(qtype);
}

/// Type of the parts of a complex type; other types are returned unchanged.
constexpr ::executorch::aten::ScalarType toRealValueType(::executorch::aten::ScalarType t) {
  switch (t) {
    case aten::ScalarType::ComplexHalf:
      return aten::ScalarType::Half;
    case aten::ScalarType::ComplexFloat:
      return aten::ScalarType::Float;
    case aten::ScalarType::ComplexDouble:
      return aten::ScalarType::Double;
    default:
      return t;
  }
}

/// Complex type with parts of type `t`, ComplexFloat for BFloat16; Undefined when there is none.
constexpr ::executorch::aten::ScalarType toComplexType(::executorch::aten::ScalarType t) {
  switch (t) {
    case aten::ScalarType::Half:
    case aten::ScalarType::ComplexHalf:
      return aten::ScalarType::ComplexHalf;
    case aten::ScalarType::BFloat16:
    case aten::ScalarType::Float:
    case aten::ScalarType::ComplexFloat:
      return aten::ScalarType::ComplexFloat;
    case aten::ScalarType::Double:
    case aten::ScalarType::ComplexDouble:
      return aten::ScalarType::ComplexDouble;
    default:
      return aten::ScalarType::Undefined;
  }
}

/// False where a cast would lose a kind of value: complex to real, floating point to integer, number to bool.
constexpr bool canCast(const ::executorch::aten::ScalarType from, const ::executorch::aten::ScalarType to) {
  return !(internal::isComplexType(from) && !internal::isComplexType(to)) &&
         !(internal::isFloatingType(from) &&
           (internal::isIntegralType(to, /*includeBool=*/false) || internal::isBarebonesUnsignedType(to))) &&
         !(from != aten::ScalarType::Bool && to == aten::ScalarType::Bool);
}

}  // namespace internal

// If the dtype is PyTorch's, isFloatingType(tensor.scalar_type()) finds PyTorch's functions anyway.
#ifdef USE_ATEN_LIB
using ::c10::canCast;
using ::c10::elementSize;
using ::c10::isBarebonesUnsignedType;
using ::c10::isBitsType;
using ::c10::isComplexType;
using ::c10::isFloat8Type;
using ::c10::isFloatingType;
using ::c10::isIntegralType;
using ::c10::isQIntType;
using ::c10::isSignedType;
using ::c10::isUnderlying;
using ::c10::toComplexType;
using ::c10::toQIntType;
using ::c10::toRealValueType;
using ::c10::toString;
using ::c10::toUnderlying;
#else
using internal::canCast;
using internal::isBarebonesUnsignedType;
using internal::isBitsType;
using internal::isComplexType;
using internal::isFloat8Type;
using internal::isFloatingType;
using internal::isIntegralType;
using internal::isQIntType;
using internal::isUnderlying;
using internal::toComplexType;
using internal::toQIntType;
using internal::toRealValueType;
using internal::toUnderlying;

/// Name of an element type, for example "Float"; "UNKNOWN_SCALAR" for any other number. Static text.
const char* toString(::executorch::aten::ScalarType t);

/// Bytes of one element; aborts for a type that is not valid.
size_t elementSize(::executorch::aten::ScalarType t);

/// True for types with negative values. Aborts for types that have no numeric values (bits, quantized, Undefined).
bool isSignedType(::executorch::aten::ScalarType t);
#endif

}  // namespace runtime
}  // namespace executorch
