// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Scalar arguments of custom kernels: their dtypes and values.
 */
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <executorch/runtime/kernel/kernel_includes.h>

/// Writes a number to a variable. Aborts if it has another kind or is out of range.
#define ET_EXTRACT_SCALAR(scalar, out_val)                                           \
  ET_CHECK_MSG(::torch::executor::native::utils::extract_scalar(scalar, &(out_val)), \
               #scalar " is of another type, or out of range")

namespace torch {
namespace executor {
namespace native {
namespace utils {

/// Bool, Long or Double.
inline ::executorch::aten::ScalarType get_scalar_dtype(const ::executorch::aten::Scalar& scalar) {
  if (scalar.isBoolean()) {
    return ::executorch::aten::ScalarType::Bool;
  }
  return scalar.isIntegral(/*includeBool=*/false) ? ::executorch::aten::ScalarType::Long
                                                  : ::executorch::aten::ScalarType::Double;
}

/**
 * The dtype of a result from a tensor and a number: the tensor's, unless the number has a higher kind in the order
 * bool, integer, floating point. Then it is Long or Float.
 *
 * @param half_to_float Whether a tensor of Half counts as one of Float.
 */
inline ::executorch::aten::ScalarType promote_type_with_scalar(::executorch::aten::ScalarType t,
                                                               const ::executorch::aten::Scalar& scalar,
                                                               bool half_to_float = false) {
  using ::executorch::aten::ScalarType;
  if (half_to_float && t == ScalarType::Half) {
    t = ScalarType::Float;
  }
  if (::executorch::runtime::isComplexType(t) || ::executorch::runtime::isFloatingType(t) || scalar.isBoolean()) {
    return t;
  }
  if (scalar.isFloatingPoint()) {
    return ScalarType::Float;
  }
  return t == ScalarType::Bool ? ScalarType::Long : t;
}

/// The number as a type of C++.
template <typename T>
T scalar_to(const ::executorch::aten::Scalar& scalar) {
  if (scalar.isBoolean()) {
    return static_cast<T>(scalar.to<bool>());
  }
  return scalar.isFloatingPoint() ? static_cast<T>(scalar.to<double>()) : static_cast<T>(scalar.to<int64_t>());
}

/// Converts to an integer type. Returns whether the number is an integer that fits.
template <typename INT_T, typename std::enable_if<std::is_integral<INT_T>::value && !std::is_same<INT_T, bool>::value,
                                                  bool>::type = true>
bool extract_scalar(const ::executorch::aten::Scalar& scalar, INT_T* out_val) {
  if (!scalar.isIntegral(/*includeBool=*/false)) {
    return false;
  }
  const auto value = scalar.to<int64_t>();
  *out_val = static_cast<INT_T>(value);
  return static_cast<int64_t>(*out_val) == value && (std::is_signed<INT_T>::value || value >= 0);
}

/// Converts to a floating-point type. Returns whether the number is not a bool and in range; infinities and NaN are.
template <typename FLOAT_T, typename std::enable_if<std::is_floating_point<FLOAT_T>::value, bool>::type = true>
bool extract_scalar(const ::executorch::aten::Scalar& scalar, FLOAT_T* out_val) {
  if (scalar.isBoolean()) {
    return false;
  }
  const double value = scalar_to<double>(scalar);
  if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<FLOAT_T>::max())) {
    return false;
  }
  *out_val = static_cast<FLOAT_T>(value);
  return true;
}

/// Converts a bool, or an integer, which is true unless it is 0. Returns false for a floating-point number.
template <typename BOOL_T, typename std::enable_if<std::is_same<BOOL_T, bool>::value, bool>::type = true>
bool extract_scalar(const ::executorch::aten::Scalar& scalar, BOOL_T* out_val) {
  if (scalar.isFloatingPoint()) {
    return false;
  }
  *out_val = scalar_to<int64_t>(scalar) != 0;
  return true;
}

}  // namespace utils
}  // namespace native
}  // namespace executor
}  // namespace torch
