// SPDX-License-Identifier: BSD-3-Clause
// Sums of products of 8-bit integers, from which the zero points are subtracted first. Operands that several sums use
// are stored with the zero point subtracted, as int16. Loops multiply int16 by int16, so that compilers use
// instructions that add pairs of products.
#pragma once

#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native::cadence {

/// The most elements of a sum in 32 bits: 8192 products of 511 * 511 are below 2^31.
constexpr int64_t kNarrowSum = 8192;

/// Whether sums of up to kNarrowSum products fit 32 bits.
template <typename X, typename W>
bool is_narrow(int64_t x_zero, int64_t w_zero) {
  return sizeof(X) + sizeof(W) == 2 && is_narrow(x_zero) && is_narrow(w_zero);
}

/// Subtracts the zero point from `count` values, which lie `step` elements apart, and stores the differences.
template <typename T>
void less_zero_point(const T* values, int64_t step, int32_t zero, int64_t count, int16_t* results) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      results[i] = static_cast<int16_t>(values[i] - zero);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    results[i] = static_cast<int16_t>(values[i * step] - zero);
  }
}

/// The sum of x[i] * (w[i] - w_zero), for at most kNarrowSum elements.
template <typename W>
int32_t dot_product(const int16_t* x, const W* w, int32_t w_zero, int64_t count) {
  const int16_t zero = static_cast<int16_t>(w_zero);
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int16_t value = static_cast<int16_t>(w[i] - zero);
    sum += static_cast<int32_t>(x[i]) * static_cast<int32_t>(value);
  }
  return sum;
}

}  // namespace torch::executor::native::cadence
