// SPDX-License-Identifier: BSD-3-Clause
// Matrix products of floats, for the best instruction set of the machine.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// Writes rows [k, k + k_count) and columns [n, n + n_count) of a matrix that exists nowhere as a whole:
/// panel[row * width + column], with zeros from column n_count up to `width`, the columns of a panel. After the last
/// row it may write what it likes to another kGemmMaxPanelWidth floats.
using GemmPackFunction = void (*)(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count,
                                  int64_t width, float* panel);

/// Columns of a panel, at most.
constexpr int64_t kGemmMaxPanelWidth = 64;

/// Rows that threads share are whole multiples of this, except for the last ones.
constexpr int64_t kGemmRowUnit = 24;

/// C (m x n) = alpha A (m x k) B (k x n) + beta C + bias. Strides are in elements; C overlaps neither A nor B.
struct GemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  /// Read where it lies, row by row: fastest with a_k_stride 1.
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_k_stride = 1;

  /// Read once, into panels, by `pack` when that is set.
  const float* b = nullptr;
  int64_t b_k_stride = 0;
  int64_t b_col_stride = 1;
  GemmPackFunction pack = nullptr;
  const void* pack_state = nullptr;
  int64_t pack_from = 0;  ///< added to the columns that `pack` is asked for

  float* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t c_col_stride = 1;

  float alpha = 1.0f;
  /// With 0 what C holds is not read.
  float beta = 0.0f;
  /// Each null, or what is added to each row (m values) and to each column (n values).
  const float* row_bias = nullptr;
  const float* col_bias = nullptr;
};

/// Runs on the threads of the pool where it is large enough.
void gemm(const GemmProblem& problem);

/// Into how many parts gemm() divides a product among the threads of the pool; at least 1.
int64_t gemm_parts(const GemmProblem& problem);

}  // namespace torch::executor::native
