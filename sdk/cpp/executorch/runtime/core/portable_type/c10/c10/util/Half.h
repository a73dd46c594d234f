// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * IEEE 754 binary16. The conversions are integer code that compilers vectorise: no FP16 hardware is assumed.
 */
#pragma once

#include <cstdint>
#include <limits>

#include <executorch/runtime/core/portable_type/c10/c10/util/bit_cast.h>
#include <executorch/runtime/core/portable_type/c10/c10/util/reduced_float_operators.h>

namespace c10 {
namespace detail {

/// Value of a binary16 bit pattern; exact. NaN payloads are kept.
inline float fp16_ieee_to_fp32_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  // Move exponent and mantissa to their places in binary32 and change the exponent's bias from 15 to 127.
  uint32_t bits = (magnitude << 13) + (112u << 23);
  if (magnitude >= 0x7c00u) {
    bits += 112u << 23;  // Infinity and NaN have the largest exponent in both formats.
  } else if (magnitude < 0x0400u) {
    bits =
        bit_cast<uint32_t>(static_cast<float>(magnitude) * 5.9604644775390625e-8f);  // Subnormal: a multiple of 2^-24.
  }
  return bit_cast<float>(sign | bits);
}

/// Nearest binary16 bit pattern, ties to even; beyond the range infinity, any NaN becomes the quiet NaN 0x7e00.
inline uint16_t fp16_ieee_from_fp32_value(float f) {
  const uint32_t bits = bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {  // 2^16 and above.
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14 and above: normal. A carry out of the mantissa may reach infinity.
    half = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {  // 2^-25 and above: a multiple of 2^-24.
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x007fffffu) | 0x00800000u;
    half = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    const uint32_t tie = 1u << (shift - 1u);
    half += (rest > tie || (rest == tie && (half & 1u) != 0)) ? 1u : 0u;
  } else {
    half = 0;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace detail

/// IEEE 754 half precision: 1 sign, 5 exponent, 10 mantissa bits; the bits are in `x`.
struct alignas(2) Half {
  unsigned short x;

  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return from_bits_t(); }

  Half() = default;
  constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
  /* implicit */ Half(float value) : x(detail::fp16_ieee_from_fp32_value(value)) {}

  operator float() const { return detail::fp16_ieee_to_fp32_value(x); }
};

C10_REDUCED_FLOAT_OPERATORS(Half)

}  // namespace c10

namespace std {

template <>
class numeric_limits<c10::Half> {
  static constexpr c10::Half bits(unsigned short value) { return c10::Half(value, c10::Half::from_bits()); }

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
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr auto traps = numeric_limits<float>::traps;
  static constexpr auto tinyness_before = numeric_limits<float>::tinyness_before;
  static constexpr c10::Half min() { return bits(0x0400); }
  static constexpr c10::Half lowest() { return bits(0xfbff); }
  static constexpr c10::Half max() { return bits(0x7bff); }
  static constexpr c10::Half epsilon() { return bits(0x1400); }
  static constexpr c10::Half round_error() { return bits(0x3800); }
  static constexpr c10::Half infinity() { return bits(0x7c00); }
  static constexpr c10::Half quiet_NaN() { return bits(0x7e00); }
  static constexpr c10::Half signaling_NaN() { return bits(0x7d00); }
  static constexpr c10::Half denorm_min() { return bits(0x0001); }
};

}  // namespace std
