// SPDX-License-Identifier: BSD-3-Clause
// Sums of products of int8, which take most of the time of convolutions and linear layers: portable, with the DSP
// extension (Cortex-M4, M7, M33), and with the vectors of Helium (M55, M85). All of them give the same bits, because
// sums are modulo 2^32. EXECUTORCH_CORTEX_M_PORTABLE chooses the portable ones everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cortex_m/cpu/fixed_point.h"

#if !defined(EXECUTORCH_CORTEX_M_PORTABLE) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define EXECUTORCH_CORTEX_M_HELIUM 1
#include <arm_mve.h>
#elif !defined(EXECUTORCH_CORTEX_M_PORTABLE) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#define EXECUTORCH_CORTEX_M_DSP 1
#include <arm_acle.h>
#endif

namespace torch::executor::native::cortex_m {

/// The number of rows of weights that are multiplied with one row of the input.
constexpr size_t kRows = 4;

/// Operands of dot_products(): elements a[i] + a_offset, and rows of elements b[row * stride + i] + b_offset. Offsets
/// fit 16 bits.
struct Rows {
  const int8_t* a;
  int32_t a_offset;
  const int8_t* b;
  size_t stride;
  int32_t b_offset;
  size_t count;
};

/// Operands of ChannelSums: the channels of one pixel with one offset, and their weights.
struct Pixel {
  const int8_t* values;
  int32_t offset;
  const int8_t* weights;
};

/// Requantises the sums of channels to int8.
struct Outputs {
  Int8Output output;
  const int32_t* multipliers;
  const int32_t* shifts;
};

namespace portable {

template <size_t kCount>
void dot_products(const Rows& rows, uint32_t (&sums)[kCount]) {
  for (size_t i = 0; i < rows.count; ++i) {
    const int32_t a = rows.a[i] + rows.a_offset;
    for (size_t row = 0; row < kCount; ++row) {
      sums[row] += static_cast<uint32_t>(a * (rows.b[row * rows.stride + i] + rows.b_offset));
    }
  }
}

template <size_t kCount>
void store(const uint32_t (&sums)[kCount], const Outputs& to, int8_t* results) {
  for (size_t i = 0; i < kCount; ++i) {
    results[i] = to.output(static_cast<int32_t>(sums[i]), to.multipliers[i], to.shifts[i]);
  }
}

/// The sums of a depthwise convolution for some channels in sequence.
class ChannelSums {
 public:
  static constexpr size_t kChannels = 1;

  ChannelSums(const int32_t* bias, size_t /*channels*/) : sums_{bias == nullptr ? 0 : static_cast<uint32_t>(*bias)} {}
  void add(const Pixel& pixel) {
    sums_[0] += static_cast<uint32_t>((pixel.values[0] + pixel.offset) * pixel.weights[0]);
  }
  void store(const Outputs& to, int8_t* results) const { portable::store(sums_, to, results); }

 private:
  uint32_t sums_[1];
};

}  // namespace portable

#if defined(EXECUTORCH_CORTEX_M_HELIUM)

namespace helium {

template <size_t kCount>
void dot_products(const Rows& rows, uint32_t (&sums)[kCount]) {
  // (a + p) * (b + q) = a * b + p * b + q * (a + p).
  int32_t products[kCount], of_b[kCount], of_a = 0;
#pragma GCC unroll 4
  for (size_t row = 0; row < kCount; ++row) {
    products[row] = of_b[row] = 0;
  }
  for (size_t i = 0; i < rows.count; i += 16) {
    const mve_pred16_t in_row = vctp8q(static_cast<uint32_t>(rows.count - i));
    const int8x16_t a = vldrbq_z_s8(rows.a + i, in_row);
    of_a = rows.b_offset == 0 ? 0 : vaddvaq_s8(of_a, a);
#pragma GCC unroll 4
    for (size_t row = 0; row < kCount; ++row) {
      const int8x16_t b = vldrbq_z_s8(rows.b + row * rows.stride + i, in_row);
      products[row] = vmladavaq_s8(products[row], a, b);
      of_b[row] = vaddvaq_s8(of_b[row], b);
    }
  }
  const uint32_t p = static_cast<uint32_t>(rows.a_offset);
  const uint32_t q = static_cast<uint32_t>(rows.b_offset);
  const uint32_t more = q * (static_cast<uint32_t>(of_a) + static_cast<uint32_t>(rows.count) * p);
#pragma GCC unroll 4
  for (size_t row = 0; row < kCount; ++row) {
    sums[row] += static_cast<uint32_t>(products[row]) + p * static_cast<uint32_t>(of_b[row]) + more;
  }
}

inline int32x4_t requantize(int32x4_t values, int32x4_t multipliers, int32x4_t shifts) {
  const int32x4_t zero = vdupq_n_s32(0);
  const int32x4_t shifted = vshlq_s32(values, vmaxq_s32(shifts, zero));
  // The one product that is too large wraps in fixed_point.h, and saturates here. GCC 12 crashes if it is
  // a constant.
  int32_t least = INT32_MIN;
  __asm("" : "+r"(least));
  const mve_pred16_t wraps = vcmpeqq_m_n_s32(shifted, least, vcmpeqq_n_s32(multipliers, least));
  const int32x4_t products = vpselq_s32(vdupq_n_s32(least), vqrdmulhq_s32(shifted, multipliers), wraps);
  // Ties away from zero: 1 is subtracted from a negative value before it is rounded with ties upwards.
  const int32x4_t right = vminq_s32(shifts, zero);
  return vrshlq_s32(vqaddq_s32(products, vshrq_n_s32(vandq_s32(products, right), 31)), right);
}

/// Stores the results of the lanes of a predicate.
inline void store(int32x4_t sums, const Outputs& to, int8_t* results, mve_pred16_t lanes) {
  const int32_t zero_point = to.output.zero_point;
  const int32x4_t scaled = requantize(sums, vldrwq_z_s32(to.multipliers, lanes), vldrwq_z_s32(to.shifts, lanes));
  const int32x4_t low = vmaxq_s32(scaled, vdupq_n_s32(to.output.min - zero_point));
  const int32x4_t steps = vminq_s32(low, vdupq_n_s32(to.output.max - zero_point));
  vstrbq_p_s32(results, vaddq_n_s32(steps, zero_point), lanes);
}

template <size_t kCount>
void store(const uint32_t (&sums)[kCount], const Outputs& to, int8_t* results) {
  static_assert(kCount <= 4);
  const mve_pred16_t lanes = vctp32q(kCount);
  store(vldrwq_z_s32(reinterpret_cast<const int32_t*>(sums), lanes), to, results, lanes);
}

class ChannelSums {
 public:
  static constexpr size_t kChannels = 8;

  ChannelSums(const int32_t* bias, size_t channels)
      : lanes_{vctp32q(static_cast<uint32_t>(channels)),
               vctp32q(static_cast<uint32_t>(channels > 4 ? channels - 4 : 0))} {
    for (size_t i = 0; i < 2; ++i) {
      sums_[i] = bias == nullptr ? vdupq_n_s32(0) : vldrwq_z_s32(bias + 4 * i, lanes_[i]);
    }
  }
  void add(const Pixel& pixel) {
    for (size_t i = 0; i < 2; ++i) {
      const int32x4_t values = vaddq_n_s32(vldrbq_z_s32(pixel.values + 4 * i, lanes_[i]), pixel.offset);
      sums_[i] = vmlaq(sums_[i], values, vldrbq_z_s32(pixel.weights + 4 * i, lanes_[i]));
    }
  }
  void store(const Outputs& to, int8_t* results) const {
    for (size_t i = 0; i < 2; ++i) {
      helium::store(sums_[i], {to.output, to.multipliers + 4 * i, to.shifts + 4 * i}, results + 4 * i, lanes_[i]);
    }
  }

 private:
  static int32x4_t vmlaq(int32x4_t sums, int32x4_t a, int32x4_t b) { return vaddq_s32(sums, vmulq_s32(a, b)); }

  mve_pred16_t lanes_[2];
  int32x4_t sums_[2];
};

}  // namespace helium

namespace fast = helium;

#elif defined(EXECUTORCH_CORTEX_M_DSP)

namespace dsp {

inline uint32_t word(const int8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

inline uint32_t rotated(uint32_t value) {
  return value >> 8 | value << 24;
}

/// Four int8 plus a number as int16: elements 0 and 2, and 1 and 3.
struct Quad {
  [[gnu::always_inline]] Quad(const int8_t* bytes, uint32_t offsets)
      : even(__sxtab16(static_cast<int16x2_t>(offsets), static_cast<int8x4_t>(word(bytes)))),
        odd(__sxtab16(static_cast<int16x2_t>(offsets), static_cast<int8x4_t>(rotated(word(bytes))))) {}
  int16x2_t even;
  int16x2_t odd;
};

/// A number in both halves of a word.
inline uint32_t twice(int32_t value) {
  return (static_cast<uint32_t>(value) & 0xFFFF) * 0x10001;
}

/// Whether each int8 plus the offset fits int16.
inline bool fits(int32_t offset) {
  return offset >= INT16_MIN - INT8_MIN && offset <= INT16_MAX - INT8_MAX;
}

template <size_t kCount>
void dot_products(const Rows& rows, uint32_t (&sums)[kCount]) {
  size_t i = 0;
  if (fits(rows.a_offset) && fits(rows.b_offset)) {
    const uint32_t a_offsets = twice(rows.a_offset), b_offsets = twice(rows.b_offset);
    int32_t products[kCount];
#pragma GCC unroll 4
    for (size_t row = 0; row < kCount; ++row) {
      products[row] = static_cast<int32_t>(sums[row]);
    }
    for (; i + 4 <= rows.count; i += 4) {
      const Quad a(rows.a + i, a_offsets);
#pragma GCC unroll 4
      for (size_t row = 0; row < kCount; ++row) {
        const Quad b(rows.b + row * rows.stride + i, b_offsets);
        products[row] = __smlad(a.odd, b.odd, __smlad(a.even, b.even, products[row]));
      }
    }
#pragma GCC unroll 4
    for (size_t row = 0; row < kCount; ++row) {
      sums[row] = static_cast<uint32_t>(products[row]);
    }
  }
  portable::dot_products({rows.a + i, rows.a_offset, rows.b + i, rows.stride, rows.b_offset, rows.count - i}, sums);
}

using portable::store;

class ChannelSums {
 public:
  static constexpr size_t kChannels = 4;

  ChannelSums(const int32_t* bias, size_t channels) : channels_(channels < kChannels ? channels : kChannels) {
    for (size_t i = 0; i < kChannels; ++i) {
      sums_[i] = bias == nullptr || i >= channels_ ? 0 : bias[i];
    }
  }
  void add(const Pixel& pixel) {
    if (channels_ == kChannels && fits(pixel.offset)) {
      const Quad a(pixel.values, twice(pixel.offset)), b(pixel.weights, 0);
      sums_[0] = __smlabb(a.even, b.even, sums_[0]);
      sums_[1] = __smlabb(a.odd, b.odd, sums_[1]);
      sums_[2] = __smlatt(a.even, b.even, sums_[2]);
      sums_[3] = __smlatt(a.odd, b.odd, sums_[3]);
      return;
    }
    for (size_t i = 0; i < channels_; ++i) {
      sums_[i] = wrapping_sum(sums_[i], (pixel.values[i] + pixel.offset) * pixel.weights[i]);
    }
  }
  void store(const Outputs& to, int8_t* results) const {
    for (size_t i = 0; i < channels_; ++i) {
      results[i] = to.output(sums_[i], to.multipliers[i], to.shifts[i]);
    }
  }

 private:
  size_t channels_;
  int32_t sums_[kChannels];
};

}  // namespace dsp

namespace fast = dsp;

#else

namespace fast = portable;

#endif

}  // namespace torch::executor::native::cortex_m
