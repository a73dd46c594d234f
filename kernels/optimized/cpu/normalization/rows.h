// SPDX-License-Identifier: BSD-3-Clause
// Normalisations of contiguous rows of floats, for the best instruction set of the machine. `out` may be `in`.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// Softmax, or its logarithm if `log`, of each of `rows` rows with width > 0. Exponentials below 1.7e-38 are 0.
void softmax_rows(const float* in, float* out, int64_t rows, int64_t width, bool log);

/// Mean and 1 / sqrt(biased variance + eps) of `width` values; two passes.
void row_statistics(const float* in, int64_t width, float eps, float* mean, float* rstd);

/// (x - mean) * rstd * weight[i] + bias[i]; weight and bias may be null.
void normalize_row(const float* in, float* out, int64_t width, float mean, float rstd, const float* weight,
                   const float* bias);

/// (x - center) * scale + shift. It must not be computed as x * scale - center * scale + shift: if x is near center,
/// the products cancel, and their rounding errors remain, which a large scale amplifies.
void scale_row(const float* in, float* out, int64_t width, float center, float scale, float shift);

/// x * scale[i] + shift[i] for each of `rows` rows, which are `stride` floats apart.
void scale_columns(const float* in, float* out, int64_t rows, int64_t width, int64_t stride, const float* scale,
                   const float* shift);

}  // namespace torch::executor::native
