// SPDX-License-Identifier: BSD-3-Clause
// float32 GEMM for the best instruction set of the machine.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// Generates a panel of a matrix B that is never stored whole: rows [k, k + k_count) and columns [n, n + n_count), to
/// panel[row * width + column]. It must write zeros from column n_count to `width`, and may write anything to
/// kGemmMaxPanelWidth floats after the last row.
using GemmPackFunction = void (*)(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count,
                                  int64_t width, float* panel);

/// The most columns of a panel.
constexpr int64_t kGemmMaxPanelWidth = 64;

/// Threads that share rows get multiples of this, except for the last rows.
constexpr int64_t kGemmRowUnit = 24;

/// C (m x n) = alpha A (m x k) B (k x n) + beta C + bias. Strides are in elements; C overlaps neither A nor B.
struct GemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  /// A is read in place; a_k_stride 1 is fastest.
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_k_stride = 1;

  /// B is packed into panels, by `pack` if that is not null.
  const float* b = nullptr;
  int64_t b_k_stride = 0;
  int64_t b_col_stride = 1;
  GemmPackFunction pack = nullptr;
  const void* pack_state = nullptr;
  int64_t pack_from = 0;  ///< added to the column numbers that `pack` gets

  float* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t c_col_stride = 1;

  float alpha = 1.0f;
  /// With 0, C is not read.
  float beta = 0.0f;
  /// Null, or a value for each row (m values) and for each column (n values).
  const float* row_bias = nullptr;
  const float* col_bias = nullptr;
};

/// Computes a product, on the threads of the pool if it is large enough.
void gemm(const GemmProblem& problem);

/// The number of parts into which gemm() divides a product among the threads of the pool; at least 1.
int64_t gemm_parts(const GemmProblem& problem);

}  // namespace torch::executor::native
