// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/portable/cpu/math/accumulate_type.h"

namespace torch::executor::native {

/// Mean and biased variance in two passes: first the mean, then the squared differences from it.
template <typename Sum>
struct Moments {
  Sum mean;
  Sum variance;
};

Moments<float> moments(const float* x, int64_t count);

/// The moments of `count` values in any layout. `for_each(body)` must call `body(x)` for each value; it is called
/// twice.
template <typename Sum, typename ForEach>
Moments<Sum> moments_of(int64_t count, const ForEach& for_each) {
  Sum sum = 0;
  for_each([&](Sum x) { sum += x; });
  const Sum mean = sum / static_cast<Sum>(count);
  Sum squares = 0;
  for_each([&](Sum x) { squares += (x - mean) * (x - mean); });
  return {mean, squares / static_cast<Sum>(count)};
}

/// The moments of contiguous values.
template <typename T>
Moments<AccumulateType<T>> moments(const T* x, int64_t count) {
  using Sum = AccumulateType<T>;
  return moments_of<Sum>(count, [&](const auto& body) {
    for (int64_t i = 0; i < count; ++i) {
      body(static_cast<Sum>(x[i]));
    }
  });
}

}  // namespace torch::executor::native
