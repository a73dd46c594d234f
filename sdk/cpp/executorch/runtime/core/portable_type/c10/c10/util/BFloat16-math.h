// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * std:: math functions of BFloat16 and Half: computed in float, rounded once. Without them a call in a kernel template
 * would give a float for these types and T for the others.
 */
#pragma once

#include <cmath>
#include <type_traits>

#include <executorch/runtime/core/portable_type/c10/c10/util/BFloat16.h>
#include <executorch/runtime/core/portable_type/c10/c10/util/Half.h>

namespace c10 {

/// True for BFloat16 and Half.
template <typename T>
struct is_reduced_floating_point
    : std::integral_constant<bool, std::is_same<T, BFloat16>::value || std::is_same<T, Half>::value> {};
template <typename T>
constexpr bool is_reduced_floating_point_v = is_reduced_floating_point<T>::value;

}  // namespace c10

namespace std {

#define C10_REDUCED_FLOAT_UNARY(function)                                          \
  template <typename T, enable_if_t<c10::is_reduced_floating_point_v<T>, int> = 0> \
  inline T function(T a) {                                                         \
    return T(std::function(static_cast<float>(a)));                                \
  }
C10_REDUCED_FLOAT_UNARY(acos)
C10_REDUCED_FLOAT_UNARY(acosh)
C10_REDUCED_FLOAT_UNARY(asin)
C10_REDUCED_FLOAT_UNARY(asinh)
C10_REDUCED_FLOAT_UNARY(atan)
C10_REDUCED_FLOAT_UNARY(atanh)
C10_REDUCED_FLOAT_UNARY(ceil)
C10_REDUCED_FLOAT_UNARY(cos)
C10_REDUCED_FLOAT_UNARY(cosh)
C10_REDUCED_FLOAT_UNARY(erf)
C10_REDUCED_FLOAT_UNARY(erfc)
C10_REDUCED_FLOAT_UNARY(exp)
C10_REDUCED_FLOAT_UNARY(expm1)
C10_REDUCED_FLOAT_UNARY(floor)
C10_REDUCED_FLOAT_UNARY(lgamma)
C10_REDUCED_FLOAT_UNARY(log)
C10_REDUCED_FLOAT_UNARY(log10)
C10_REDUCED_FLOAT_UNARY(log1p)
C10_REDUCED_FLOAT_UNARY(log2)
C10_REDUCED_FLOAT_UNARY(nearbyint)
C10_REDUCED_FLOAT_UNARY(rint)
C10_REDUCED_FLOAT_UNARY(sin)
C10_REDUCED_FLOAT_UNARY(sinh)
C10_REDUCED_FLOAT_UNARY(sqrt)
C10_REDUCED_FLOAT_UNARY(tan)
C10_REDUCED_FLOAT_UNARY(tanh)
C10_REDUCED_FLOAT_UNARY(tgamma)
C10_REDUCED_FLOAT_UNARY(trunc)
#undef C10_REDUCED_FLOAT_UNARY

template <typename T, enable_if_t<c10::is_reduced_floating_point_v<T>, int> = 0>
inline T pow(T a, T b) {
  return T(std::pow(static_cast<float>(a), static_cast<float>(b)));
}
template <typename T, enable_if_t<c10::is_reduced_floating_point_v<T>, int> = 0>
inline T pow(T a, double b) {
  return T(static_cast<float>(std::pow(static_cast<double>(static_cast<float>(a)), b)));
}
template <typename T, enable_if_t<c10::is_reduced_floating_point_v<T>, int> = 0>
inline T fmod(T a, T b) {
  return T(std::fmod(static_cast<float>(a), static_cast<float>(b)));
}

/// The next value of the same type from `from` towards `to`.
template <typename T, enable_if_t<c10::is_reduced_floating_point_v<T>, int> = 0>
inline T nextafter(T from, T to) {
  const float a = static_cast<float>(from);
  const float b = static_cast<float>(to);
  if (std::isnan(a) || std::isnan(b)) {
    return T(a + b);
  }
  if (a == b) {
    return to;
  }
  if (a == 0) {  // Zero has two patterns; the smallest number has the sign of the direction.
    return T(static_cast<unsigned short>(b > 0 ? 0x0001 : 0x8001), T::from_bits());
  }
  // Away from zero the pattern grows by one, for both signs.
  const int step = (b > a) == (a > 0) ? 1 : -1;
  return T(static_cast<unsigned short>(from.x + step), T::from_bits());
}

}  // namespace std
