// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Functions of one and two numbers by the names that generic kernels call: executorch::math::exp(x) and so on, also
 * found as executorch::exp(x). They are the functions of the standard library; kernels of this SDK compute vectors with
 * Highway.
 */
#pragma once

#include <cmath>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
inline namespace math {

using std::abs;
using std::acos;
using std::asin;
using std::atan;
using std::atan2;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::floor;
using std::fmod;
using std::lgamma;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::pow;
using std::round;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::trunc;

/// 1 / sqrt(x).
template <typename T, std::enable_if_t<std::is_floating_point_v<T>, bool> = true>
T rsqrt(T x) {
  return T(1) / std::sqrt(x);
}

}  // namespace math
}  // namespace executorch
