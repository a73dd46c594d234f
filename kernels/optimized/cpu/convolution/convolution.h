// SPDX-License-Identifier: BSD-3-Clause
// The fast ways of a convolution of floats. Each returns false, having done nothing, where the shape or the layout is
// not for it. `bias` is null or has shape.out_channels elements.
#pragma once

#include "kernels/portable/cpu/convolution/convolution.h"

namespace torch::executor::native {

/// a / b rounded up; b > 0.
inline int64_t divide_up(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/// Filters of one input channel, in planes whose rows are contiguous.
bool convolve_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

/// Matrix products, group by group: weights (out channels x taps) times columns (taps x output pixels), or pixels times
/// weights where channels are contiguous. The columns are made panel by panel and never exist as a whole.
bool convolve_columns(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

/// Transposed: matrix products, tap by tap, of which none is with the zeros between the pixels.
bool convolve_transposed(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

}  // namespace torch::executor::native
