// SPDX-License-Identifier: BSD-3-Clause
// Fast algorithms for float32 convolutions. Each function returns false, and does nothing, if it does not support the
// shape or the layout. `bias` is null or has shape.out_channels elements.
#pragma once

#include "kernels/portable/cpu/convolution/convolution.h"

namespace torch::executor::native {

/// a / b rounded up; b > 0.
inline int64_t divide_up(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/// Depthwise convolution: filters with one input channel, on planes whose rows are contiguous.
bool convolve_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

/// A GEMM for each group: weights (out channels x taps) times columns (taps x output pixels), or pixels times weights
/// if channels are contiguous. Columns are packed panel by panel, so that the matrix of all columns (im2col) never
/// exists.
bool convolve_columns(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

/// Transposed convolution: a GEMM for each tap, without multiplying the zeros between the pixels.
bool convolve_transposed(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

}  // namespace torch::executor::native
