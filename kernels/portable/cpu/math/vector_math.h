// SPDX-License-Identifier: BSD-3-Clause
// Elementary functions, and sums over contiguous floats, that compilers vectorise. Use them in loops of
// ET_ALWAYS_INLINE functions that ET_MULTIVERSION (simd.h) compiles, as op_softmax.cpp does.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/portable/cpu/math/simd.h"

namespace torch::executor::native {

/// e^x without branches. The error is at most 2 units in the last place. The result is 0 below -104, infinity
/// above 88.8 and NaN for NaN; denormal results are rounded twice.
///
/// e^x = 2^n e^r with n the integer nearest to x / ln 2 and |r| <= ln 2 / 2, where eight terms of the Taylor series of
/// e^r leave a relative error of 1e-8.
ET_ALWAYS_INLINE float vector_exp(float x) {
  constexpr float kLog2E = 1.44269504088896341f;
  // ln 2 in two parts: the first has few enough bits for n * kLn2High to be exact.
  constexpr float kLn2High = 0.693145751953125f;
  constexpr float kLn2Low = 1.42860682030941723e-6f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits

  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;

  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;

  // 2^n as two factors, because n = 128 and n < -126 are not exponents of a normal float.
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  const int32_t exponent = bits - 0x4b400000;  // the bits of kRound
  const int32_t half = exponent >> 1;
  const uint32_t low_bits = static_cast<uint32_t>(half + 127) << 23;
  const uint32_t high_bits = static_cast<uint32_t>(exponent - half + 127) << 23;
  float low, high;
  std::memcpy(&low, &low_bits, sizeof(low));
  std::memcpy(&high, &high_bits, sizeof(high));
  return series * low * high;
}

/// Sum of count contiguous floats, in 16 partial sums.
ET_ALWAYS_INLINE float vector_sum(const float* x, int64_t count) {
  simd::Floats<8> sums[2], values;
  sums[0].fill(0.0f);
  sums[1].fill(0.0f);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    values.load(x + i);
    sums[0].add(values);
    values.load(x + i + 8);
    sums[1].add(values);
  }
  sums[0].add(sums[1]);
  float total = sums[0].sum();
  for (; i < count; ++i) {
    total += x[i];
  }
  return total;
}

/// Sum of (x - center)^2.
ET_ALWAYS_INLINE float vector_sum_of_squares(const float* x, int64_t count, float center) {
  simd::Floats<8> sums[2], values, minus;
  minus.fill(-center);
  sums[0].fill(0.0f);
  sums[1].fill(0.0f);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    values.load(x + i);
    values.add(minus);
    sums[0].add_product(values, values);
    values.load(x + i + 8);
    values.add(minus);
    sums[1].add_product(values, values);
  }
  sums[0].add(sums[1]);
  float total = sums[0].sum();
  for (; i < count; ++i) {
    total += (x[i] - center) * (x[i] - center);
  }
  return total;
}

/// The largest of count > 0 floats. If there is a NaN, the result may be NaN or not.
ET_ALWAYS_INLINE float vector_max(const float* x, int64_t count) {
  float largest[8];
  for (int lane = 0; lane < 8; ++lane) {
    largest[lane] = x[0];
  }
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      largest[lane] = x[i + lane] > largest[lane] ? x[i + lane] : largest[lane];
    }
  }
  for (; i < count; ++i) {
    largest[0] = x[i] > largest[0] ? x[i] : largest[0];
  }
  float result = largest[0];
  for (int lane = 1; lane < 8; ++lane) {
    result = largest[lane] > result ? largest[lane] : result;
  }
  return result;
}

}  // namespace torch::executor::native
