// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * PyTorch's rules for the result type of an operation on two element types. Included by scalar_type_util.h.
 */
#pragma once

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace runtime {

template <typename T1, typename T2>
struct can_cast
    : std::integral_constant<bool, internal::canCast(CppTypeToScalarType<T1>::value, CppTypeToScalarType<T2>::value)> {
};

namespace internal {

constexpr bool takes_part_in_promotion(aten::ScalarType t) {
  return internal::isIntegralType(t, /*includeBool=*/true) || internal::isFloatingType(t) || internal::isComplexType(t);
}

/// Promotion without half_to_float.
constexpr aten::ScalarType promote(aten::ScalarType a, aten::ScalarType b) {
  using aten::ScalarType;
  if (a == b) {
    return a;
  }
  if (internal::isBarebonesUnsignedType(a) || internal::isBarebonesUnsignedType(b)) {
    const ScalarType other = internal::isBarebonesUnsignedType(a) ? b : a;
    return internal::isFloatingType(other) || internal::isComplexType(other) ? other : ScalarType::Undefined;
  }
  if (!takes_part_in_promotion(a) || !takes_part_in_promotion(b)) {
    return ScalarType::Undefined;
  }
  if (internal::isComplexType(a) || internal::isComplexType(b)) {
    return internal::toComplexType(promote(internal::toRealValueType(a), internal::toRealValueType(b)));
  }
  if (internal::isFloatingType(a) && internal::isFloatingType(b)) {
    // Half lacks BFloat16's range, and BFloat16 lacks Half's precision: their pair needs Float.
    return a == ScalarType::Double || b == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  }
  if (internal::isFloatingType(a) || internal::isFloatingType(b)) {
    return internal::isFloatingType(a) ? a : b;
  }
  if (a == ScalarType::Bool || b == ScalarType::Bool) {
    return a == ScalarType::Bool ? b : a;
  }
  if ((a == ScalarType::Byte && b == ScalarType::Char) || (a == ScalarType::Char && b == ScalarType::Byte)) {
    return ScalarType::Short;
  }
  return a > b ? a : b;  // Byte, Char < Short < Int < Long is also the order of their numbers.
}

}  // namespace internal

/**
 * Result type of an operation on tensors of types `a` and `b`.
 *
 * @param half_to_float Replaces a result of Half or BFloat16 by Float.
 * @return Undefined when PyTorch defines no common type (for example of a quantized and another type, or UInt16 and
 * Int).
 */
inline constexpr ::executorch::aten::ScalarType promoteTypes(::executorch::aten::ScalarType a,
                                                             ::executorch::aten::ScalarType b, bool half_to_float) {
  const aten::ScalarType result = internal::promote(a, b);
  return half_to_float && (result == aten::ScalarType::Half || result == aten::ScalarType::BFloat16)
             ? aten::ScalarType::Float
             : result;
}
#ifdef USE_ATEN_LIB
using ::c10::promoteTypes;
#else
inline constexpr ::executorch::aten::ScalarType promoteTypes(::executorch::aten::ScalarType a,
                                                             ::executorch::aten::ScalarType b) {
  return internal::promote(a, b);
}
#endif

/// promoteTypes() of C++ types; ill-formed when there is no common type.
template <typename T1, typename T2, bool half_to_float = false>
struct promote_types {
  using type = typename ScalarTypeToCppType<promoteTypes(CppTypeToScalarType<T1>::value, CppTypeToScalarType<T2>::value,
                                                         half_to_float)>::type;
};

/// Element conversion as PyTorch does it: floating point to integer goes through int64_t, so that negative values wrap.
template <typename To, typename From,
          std::enable_if_t<(std::is_floating_point<From>::value && std::is_integral<To>::value), int> = 0>
To convert(From val) {
  return static_cast<To>(static_cast<int64_t>(val));
}
template <typename To, typename From,
          std::enable_if_t<!(std::is_floating_point<From>::value && std::is_integral<To>::value), int> = 0>
To convert(From val) {
  return static_cast<To>(val);
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::can_cast;
using ::executorch::runtime::canCast;
using ::executorch::runtime::convert;
using ::executorch::runtime::promote_types;
using ::executorch::runtime::promoteTypes;
using ::executorch::runtime::toComplexType;
using ::executorch::runtime::toRealValueType;
}  // namespace executor
}  // namespace torch
