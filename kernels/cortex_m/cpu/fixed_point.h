// SPDX-License-Identifier: BSD-3-Clause
// The fixed-point arithmetic of CMSIS-NN, whose results these kernels give bit for bit. A real multiplier is a pair of
// an int32 `multiplier` and a `shift`: multiplier / 2^31 * 2^shift. Sums wrap at 32 bits, as they do on the processors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch::executor::native::cortex_m {

/// value * 2^-exponent for 0 <= exponent <= 31, rounded to nearest, ties away from zero.
inline int32_t divide_by_power_of_two(int32_t value, int32_t exponent) {
  const uint32_t mask = (uint32_t{1} << exponent) - 1;
  const uint32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + ((static_cast<uint32_t>(value) & mask) > threshold ? 1 : 0);
}

/// value * multiplier / 2^31 * 2^shift for -31 <= shift <= 31. It is rounded twice: after the multiplication, ties
/// upwards, and after a shift to the right.
inline int32_t requantize(int32_t value, int32_t multiplier, int32_t shift) {
  const int32_t shifted = static_cast<int32_t>(static_cast<uint32_t>(value) << (shift > 0 ? shift : 0));
  const int64_t product = static_cast<int64_t>(shifted) * multiplier + (int64_t{1} << 30);
  return divide_by_power_of_two(static_cast<int32_t>(product >> 31), shift < 0 ? -shift : 0);
}

/// a * b / 2^31, rounded to nearest, ties upwards. INT32_MIN * INT32_MIN, which does not fit, gives INT32_MAX.
inline int32_t saturating_high_product(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) {
    return INT32_MAX;
  }
  const int64_t product = static_cast<int64_t>(a) * b;
  const int64_t half = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + half) / (int64_t{1} << 31));
}

/// a + b modulo 2^32.
inline int32_t wrapping_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

inline int32_t clamp(int32_t value, int32_t min, int32_t max) {
  return value < min ? min : value > max ? max : value;
}

/// Requantises sums to int8: multiplies, adds the zero point and clamps.
struct Int8Output {
  int32_t zero_point;
  int32_t min;
  int32_t max;

  int8_t operator()(int32_t sum, int32_t multiplier, int32_t shift) const {
    // Clamped first, so that adding the zero point cannot overflow.
    const int32_t steps = clamp(requantize(sum, multiplier, shift), min - zero_point, max - zero_point);
    return static_cast<int8_t>(steps + zero_point);
  }
};

}  // namespace torch::executor::native::cortex_m
