// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/portable/cpu/pattern/compute_type.h"

namespace torch::executor::native {

/// A matrix in memory; strides are in elements.
struct Matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;

  Matrix transposed() const { return {data, cols, rows, col_stride, row_stride}; }
};

/// The factors beta of C and alpha of the product. For integer matrices, they are truncated to integers.
struct Factors {
  Scalar beta = 1;
  Scalar alpha = 1;
};

/// C = alpha A B, or C = beta C + alpha A B if `accumulate`. C does not overlap A or B. All hold `dtype`, which must be
/// supported (compute_type.h); sums are formed in its compute type, rounded once, and wrap for integers.
void multiply(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
              const Factors& factors = {});

}  // namespace torch::executor::native
