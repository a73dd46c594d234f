// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/gemm.h"

namespace torch::executor::native {

/// A matrix in memory; strides are in elements.
template <typename T>
struct Matrix {
  T* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;

  T& at(int64_t row, int64_t col) const { return data[row * row_stride + col * col_stride]; }
};

namespace internal {

inline void multiply_float(const Matrix<const float>& a, const Matrix<const float>& b, const Matrix<float>& c,
                           bool accumulate) {
  GemmProblem problem;
  const StridedMatrix packed{b.data, b.row_stride, b.col_stride};
  problem.m = c.rows;
  problem.n = c.cols;
  problem.k = a.cols;
  problem.a = a.data;
  problem.a_row_stride = a.row_stride;
  problem.a_k_stride = a.col_stride;
  if (b.col_stride == 1) {
    problem.b = b.data;
    problem.b_row_stride = b.row_stride;
  } else {
    problem.pack = gemm_pack_strided;
    problem.pack_state = &packed;
  }
  problem.c = c.data;
  problem.c_row_stride = c.row_stride;
  problem.c_col_stride = c.col_stride;
  problem.accumulate = accumulate;
  gemm(problem);
}

}  // namespace internal

/// C = A B, or C += A B. C does not overlap A or B. Sums are formed in AccumulateType<T>.
template <typename T>
void multiply(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, bool accumulate) {
  if constexpr (std::is_same_v<T, float>) {
    internal::multiply_float(a, b, c, accumulate);
  } else {
    using Sum = AccumulateType<T>;
    constexpr int64_t kChunk = 32;
    for (int64_t i = 0; i < c.rows; ++i) {
      for (int64_t j = 0; j < c.cols; j += kChunk) {
        const int64_t count = c.cols - j < kChunk ? c.cols - j : kChunk;
        Sum sum[kChunk];
        for (int64_t n = 0; n < count; ++n) {
          sum[n] = accumulate ? static_cast<Sum>(c.at(i, j + n)) : Sum(0);
        }
        for (int64_t k = 0; k < a.cols; ++k) {
          const Sum x = static_cast<Sum>(a.at(i, k));
          for (int64_t n = 0; n < count; ++n) {
            sum[n] += x * static_cast<Sum>(b.at(k, j + n));
          }
        }
        for (int64_t n = 0; n < count; ++n) {
          c.at(i, j + n) = static_cast<T>(sum[n]);
        }
      }
    }
  }
}

}  // namespace torch::executor::native
