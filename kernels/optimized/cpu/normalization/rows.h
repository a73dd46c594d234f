// SPDX-License-Identifier: BSD-3-Clause
// Normalisations of contiguous rows of floats, for the best instruction set of the machine. `out` may be `in`.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// e^x / sum(e^x), or its logarithm, of each of `rows` rows of width > 0. Results below 2e-38 are 0.
void softmax_rows(const float* in, float* out, int64_t rows, int64_t width, bool log);

/// Mean and 1 / sqrt(biased variance + eps) of `width` values; two passes.
void row_statistics(const float* in, int64_t width, float eps, float* mean, float* rstd);

/// (x - mean) * rstd * weight[i] + bias[i]; weight and bias may be null.
void normalize_row(const float* in, float* out, int64_t width, float mean, float rstd, const float* weight,
                   const float* bias);

/// (x - center) * scale + shift. Where x is near center, x * scale and center * scale would cancel out but for their
/// rounding errors, which a large scale makes visible.
void scale_row(const float* in, float* out, int64_t width, float center, float scale, float shift);

/// x * scale[i] + shift[i] for each of `rows` rows, which begin `stride` apart.
void scale_columns(const float* in, float* out, int64_t rows, int64_t width, int64_t stride, const float* scale,
                   const float* shift);

}  // namespace torch::executor::native
