// SPDX-License-Identifier: BSD-3-Clause
// The columns of adjacent windows in a row of the input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/portable/cpu/math/pooling.h"

namespace torch::executor::native {

/// Calls body(first, last, at) for each column of the `count` windows from number `o` on. The column is not padding for
/// windows `o` + [first, last). Its position in the input is `at` for the first of these windows, and axis.stride more
/// for each next one.
template <typename Body>
void for_each_column(const PoolAxis& axis, int64_t o, int64_t count, const Body& body) {
  // Skip columns that are padding for all windows: a kernel may be much larger than the input.
  const int64_t leftmost = axis.start(o), rightmost = axis.start(o + count - 1);
  const int64_t columns = leftmost < axis.in ? std::min(axis.kernel, (axis.in - 1 - leftmost) / axis.dilation + 1) : 0;
  for (int64_t i = rightmost < 0 ? (-rightmost + axis.dilation - 1) / axis.dilation : 0; i < columns; ++i) {
    const int64_t at = leftmost + i * axis.dilation;  // for the first window; may be padding
    const int64_t first = at < 0 ? (-at + axis.stride - 1) / axis.stride : 0;
    const int64_t last = at < axis.in ? std::min((axis.in - 1 - at) / axis.stride + 1, count) : 0;
    if (first < last) {
      body(first, last, at + first * axis.stride);
    }
  }
}

}  // namespace torch::executor::native
