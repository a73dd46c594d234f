// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Properties of element types. Includes the type lists (ET_FORALL_*), the dispatch (ET_SWITCH_*) and the promotion.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_forall.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_predicates.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_switch.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_traits.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// True for the number of a real element type: not Undefined, not out of range.
inline bool isValid(::executorch::aten::ScalarType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < static_cast<int>(aten::ScalarType::Undefined);
}

template <typename T, bool includeBool>
struct is_integral_type
    : std::integral_constant<bool, internal::isIntegralType(CppTypeToScalarType<T>::value, includeBool)> {};

/// Integers, Float and Double.
inline constexpr bool isRealType(::executorch::aten::ScalarType t) {
  return internal::isIntegralType(t, /*includeBool=*/false) || t == aten::ScalarType::Float ||
         t == aten::ScalarType::Double;
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

template <typename T>
struct is_complex_type : std::integral_constant<bool, internal::isComplexType(CppTypeToScalarType<T>::value)> {};

template <typename T>
struct is_bits_type : std::integral_constant<bool, internal::isBitsType(CppTypeToScalarType<T>::value)> {};

template <typename T>
struct is_qint_type : std::integral_constant<bool, internal::isQIntType(CppTypeToScalarType<T>::value)> {};

template <typename T>
struct is_float8_type : std::integral_constant<bool, internal::isFloat8Type(CppTypeToScalarType<T>::value)> {};

template <typename T>
struct is_barebones_unsigned_type
    : std::integral_constant<bool, internal::isBarebonesUnsignedType(CppTypeToScalarType<T>::value)> {};

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
