// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Arithmetic of single elements as PyTorch defines it, for custom kernels.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace torch {
namespace executor {
namespace native {
namespace utils {
namespace internal {

template <typename T>
constexpr bool is_half = std::is_same_v<T, ::executorch::aten::Half> || std::is_same_v<T, ::executorch::aten::BFloat16>;

/// NaN if one argument is NaN, otherwise the one that `comes_first` selects.
template <typename T, typename ComesFirst>
T select(T a, T b, ComesFirst comes_first) {
  if constexpr (std::is_integral_v<T>) {
    return comes_first(a, b) ? a : b;
  } else {
    using Wide = std::conditional_t<is_half<T>, float, T>;
    const auto x = static_cast<Wide>(a);
    const auto y = static_cast<Wide>(b);
    return std::isnan(x) || (!std::isnan(y) && comes_first(x, y)) ? a : b;
  }
}

}  // namespace internal

/// The smaller one, as torch.minimum: NaN if one argument is NaN.
template <typename T>
T min_override(T a, T b) {
  return internal::select(a, b, [](auto x, auto y) { return x < y; });
}

/// The larger one, as torch.maximum: NaN if one argument is NaN.
template <typename T>
T max_override(T a, T b) {
  return internal::select(a, b, [](auto x, auto y) { return x > y; });
}

/// a // b, rounded down. Integers must not be divided by 0; floating point numbers give an infinity or NaN.
template <typename T>
T floor_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto quotient = static_cast<T>(a / b);
    const bool is_inexact = static_cast<T>(quotient * b) != a;
    return static_cast<T>(is_inexact && (a < 0) != (b < 0) ? quotient - 1 : quotient);
  } else {
    if (b == 0) {
      return a / b;
    }
    const T remainder = std::fmod(a, b);
    // The quotient is a whole number, except for its rounding error.
    const T quotient = std::round((a - remainder) / b);
    return remainder != 0 && (b < 0) != (remainder < 0) ? quotient - 1 : quotient;
  }
}

/// a - floor(a / b) * b, as torch.remainder: with the sign of `b`. Integers must not be divided by 0.
template <typename T>
T remainder_override(T a, T b) {
  T remainder;
  if constexpr (std::is_integral_v<T>) {
    remainder = static_cast<T>(a % b);
  } else {
    remainder = std::fmod(a, b);
  }
  return static_cast<T>(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

}  // namespace utils
}  // namespace native
}  // namespace executor
}  // namespace torch
