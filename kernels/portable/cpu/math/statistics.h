// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/portable/cpu/math/accumulate_type.h"

namespace torch::executor::native {

/// Mean and biased variance of contiguous values, by two passes: the mean first, then the squares of the distances from
/// it.
template <typename Sum>
struct Moments {
  Sum mean;
  Sum variance;
};

Moments<float> moments(const float* x, int64_t count);

template <typename T>
Moments<AccumulateType<T>> moments(const T* x, int64_t count) {
  using Sum = AccumulateType<T>;
  Sum sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<Sum>(x[i]);
  }
  const Sum mean = sum / static_cast<Sum>(count);
  Sum squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Sum distance = static_cast<Sum>(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, squares / static_cast<Sum>(count)};
}

}  // namespace torch::executor::native
