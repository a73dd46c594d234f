// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace executorch {
namespace backends {
namespace ethosu {

enum class Rounding : uint8_t {
  /// Twice, as TOSA's RESCALE with double rounding does: away from zero, then to the nearest.
  Double = 0,
  /// Towards zero.
  Truncate = 1,
  /// To the nearest, halves upwards.
  Natural = 2,
};

/// value * multiplier / 2^shift as an integer. `shift` is at most 63. Products of more than 78 bits with their sign
/// (63 if `shift` is at most 16), which only damaged commands have, are limited.
inline int64_t scaled(int64_t value, uint32_t multiplier, int shift, Rounding rounding) {
  const bool is_negative = value < 0;
  if (shift > 0 && rounding == Rounding::Truncate && is_negative) {
    return -scaled(-value, multiplier, shift, rounding);
  }
  // The lowest 16 bits of the product are kept apart.
  int64_t part = value >> 16;
  constexpr int64_t kAlwaysFits = int64_t{1} << 30, kMostHigh = int64_t{1} << 62;
  if (part > kAlwaysFits || part < -kAlwaysFits) {
    const int64_t most = kMostHigh / std::max<int64_t>(multiplier, 1);
    part = std::clamp(part, -most, most);
  }
  const int64_t high = part * static_cast<int64_t>(multiplier);
  const int64_t low = (value & 0xFFFF) * static_cast<int64_t>(multiplier);
  const int64_t upper = high + (low >> 16);
  const int64_t lower = low & 0xFFFF;
  if (shift > 16) {
    int64_t half = 0;
    if (rounding != Rounding::Truncate) {
      half = int64_t{1} << (shift - 17);
    }
    if (rounding == Rounding::Double && shift > 31) {
      half += is_negative ? -(int64_t{1} << 14) : int64_t{1} << 14;
    }
    return (upper + half) >> (shift - 16);
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() >> 17;
  if (upper > kMost || upper < -kMost) {
    return upper > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  }
  const int64_t product = upper * 65536 + lower;
  const int64_t half = shift > 0 && rounding != Rounding::Truncate ? int64_t{1} << (shift - 1) : 0;
  return (product + half) >> shift;
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
