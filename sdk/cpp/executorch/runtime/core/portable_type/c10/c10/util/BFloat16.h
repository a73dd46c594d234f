// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * bfloat16: the upper half of an IEEE 754 binary32.
 */
#pragma once

#include <cstdint>
#include <limits>

#include <executorch/runtime/core/portable_type/c10/c10/util/bit_cast.h>
#include <executorch/runtime/core/portable_type/c10/c10/util/reduced_float_operators.h>

namespace c10 {
namespace detail {

/// Value of a bfloat16 bit pattern; exact.
inline float f32_from_bits(uint16_t bits) {
  return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Nearest bfloat16 bit pattern, ties to even; any NaN becomes the quiet NaN 0x7fc0.
inline uint16_t round_to_nearest_even(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fc0;
  }
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace detail

/// Brain floating point: 1 sign, 8 exponent, 7 mantissa bits; the bits are in `x`.
struct alignas(2) BFloat16 {
  uint16_t x;

  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return from_bits_t(); }

  BFloat16() = default;
  constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  /* implicit */ BFloat16(float value) : x(detail::round_to_nearest_even(value)) {}

  operator float() const { return detail::f32_from_bits(x); }
};

C10_REDUCED_FLOAT_OPERATORS(BFloat16)

}  // namespace c10

namespace std {

template <>
class numeric_limits<c10::BFloat16> {
  static constexpr c10::BFloat16 bits(unsigned short value) { return c10::BFloat16(value, c10::BFloat16::from_bits()); }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr auto has_denorm = numeric_limits<float>::has_denorm;
  static constexpr auto has_denorm_loss = numeric_limits<float>::has_denorm_loss;
  static constexpr auto round_style = numeric_limits<float>::round_style;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
  static constexpr auto traps = numeric_limits<float>::traps;
  static constexpr auto tinyness_before = numeric_limits<float>::tinyness_before;
  static constexpr c10::BFloat16 min() { return bits(0x0080); }
  static constexpr c10::BFloat16 lowest() { return bits(0xff7f); }
  static constexpr c10::BFloat16 max() { return bits(0x7f7f); }
  static constexpr c10::BFloat16 epsilon() { return bits(0x3c00); }
  static constexpr c10::BFloat16 round_error() { return bits(0x3f00); }
  static constexpr c10::BFloat16 infinity() { return bits(0x7f80); }
  static constexpr c10::BFloat16 quiet_NaN() { return bits(0x7fc0); }
  static constexpr c10::BFloat16 signaling_NaN() { return bits(0x7f81); }
  static constexpr c10::BFloat16 denorm_min() { return bits(0x0001); }
};

}  // namespace std
