// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on compute types that is defined for all values: integers wrap around, as they do in PyTorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace torch::executor::native {

template <typename C>
constexpr bool is_integer = std::is_integral_v<C>;

template <typename C>
inline C wrapping_add(C a, C b) {
  if constexpr (is_integer<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename C>
inline C wrapping_sub(C a, C b) {
  if constexpr (is_integer<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename C>
inline C wrapping_mul(C a, C b) {
  if constexpr (is_integer<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename C>
inline C negative(C a) {
  if constexpr (is_integer<C>) {
    return wrapping_sub<C>(0, a);
  } else {
    return -a;
  }
}

template <typename C>
inline C absolute(C a) {
  if constexpr (is_integer<C>) {
    return a < 0 ? negative(a) : a;
  } else {
    return std::abs(a);
  }
}

template <typename C>
inline bool is_nan(C value) {
  if constexpr (is_integer<C>) {
    return false;
  } else {
    return value != value;
  }
}

/// The larger value; NaN if either is NaN.
template <typename C>
inline C nan_max(C a, C b) {
  return ((b > a) | is_nan(b)) ? b : a;
}

template <typename C>
inline C nan_min(C a, C b) {
  return ((b < a) | is_nan(b)) ? b : a;
}

/// Quotient rounded towards zero. The divisor of an integer must not be zero.
template <typename C>
inline C trunc_divide(C a, C b) {
  if constexpr (is_integer<C>) {
    return b == -1 ? negative(a) : a / b;
  } else {
    return std::trunc(a / b);
  }
}

/// Remainder with the sign of the dividend. The divisor of an integer must not be zero.
template <typename C>
inline C trunc_remainder(C a, C b) {
  if constexpr (is_integer<C>) {
    return b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

/// Remainder with the sign of the divisor, as Python's %. The divisor of an integer must not be zero.
template <typename C>
inline C floor_remainder(C a, C b) {
  const C remainder = trunc_remainder(a, b);
  return remainder != 0 && (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

/// Quotient rounded down, as Python's //. The divisor of an integer must not be zero. For floating point this is exact
/// where floor(a / b) is not, because a / b may round up to the next integer.
template <typename C>
inline C floor_divide(C a, C b) {
  if constexpr (is_integer<C>) {
    const C quotient = trunc_divide(a, b);
    return trunc_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    if (b == 0) {
      return a / b;
    }
    // Leaves b out of the numerator, because b may be infinite.
    const C remainder = trunc_remainder(a, b), borrow = remainder != 0 && (b < 0) != (remainder < 0) ? 1 : 0;
    const C quotient = (a - remainder) / b - borrow;
    // The quotient is an integer except for rounding. Adding 0.5 to round it would itself round if it is above 2^23.
    const C floor = std::floor(quotient);
    return quotient == 0 ? std::copysign(C(0), a / b) : quotient - floor > C(0.5) ? floor + 1 : floor;
  }
}

}  // namespace torch::executor::native
