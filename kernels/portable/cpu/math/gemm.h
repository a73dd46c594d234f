// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

// float32 GEMM with register tiles. It allocates nothing; a panel of B (kGemmPanelFloats) is on the stack.

namespace torch {
namespace executor {

#if defined(__x86_64__) || defined(__aarch64__) || defined(_M_X64) || defined(_M_ARM64)
constexpr int64_t kGemmPanelFloats = 4096;
#else
constexpr int64_t kGemmPanelFloats = 512;
#endif

/// Fills a panel with rows [k, k + k_count) and columns [n, n + n_count) of B: panel[row * width + column]. Columns
/// from n_count to width must be written too (zeros).
using GemmPackFunction = void (*)(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count,
                                  int64_t width, float* panel);

/// C (m x n) = A (m x k) B (k x n) plus what `accumulate` selects. Strides are in elements; no two arguments overlap.
struct GemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_k_stride = 1;

  /// B with unit column stride, or nullptr if `pack` generates it.
  const float* b = nullptr;
  int64_t b_row_stride = 0;
  GemmPackFunction pack = nullptr;
  const void* pack_state = nullptr;

  float* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t c_col_stride = 1;

  /// True: adds what C holds. False: adds row_start[row], or nothing if row_start is nullptr.
  bool accumulate = false;
  const float* row_start = nullptr;
};

void gemm(const GemmProblem& problem);

/// Packs B given as (k x n) with any strides; `state` is a StridedMatrix.
struct StridedMatrix {
  const float* data;
  int64_t row_stride;
  int64_t col_stride;
};
void gemm_pack_strided(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width,
                       float* panel);

}  // namespace executor
}  // namespace torch
