// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/gemm/gemm.cpp"
#include "kernels/optimized/cpu/gemm/gemm.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/optimized/cpu/gemm/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

// Panels of B that wait on the stack for all rows of A: 64 KiB, which stay in the second-level cache.
constexpr int64_t kPanelFloats = 16384;
// A row of a tile's part of A: six of them stay in the first-level cache while the panels pass by.
constexpr int64_t kMaxDepth = 256;
// With fewer rows of A than this, B is read where it lies if it can be.
constexpr int64_t kRowsWorthPacking = 2 * kTileRows;

// B with unit stride along k: a transposed matrix.
void pack_transposed(const float* b, int64_t col_stride, int64_t k_count, int64_t n_count, int64_t width,
                     float* panel) {
  for (int64_t j = 0; j < n_count; ++j) {
    const float* source = b + j * col_stride;
    for (int64_t row = 0; row < k_count; ++row) {
      panel[row * width + j] = source[row];
    }
  }
  for (int64_t row = 0; n_count < width && row < k_count; ++row) {
    std::fill(panel + row * width + n_count, panel + (row + 1) * width, 0.0f);
  }
}

void pack_rows(const float* b, int64_t k_stride, int64_t col_stride, int64_t k_count, int64_t n_count, int64_t width,
               float* panel) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (col_stride == 1 && n_count == width) {
    for (int64_t row = 0; row < k_count; ++row) {
      for (int64_t j = 0; j < width; j += lanes) {
        hn::StoreU(hn::LoadU(d, b + j), d, panel + j);
      }
      b += k_stride;
      panel += width;
    }
    return;
  }
  for (int64_t row = 0; row < k_count; ++row) {
    for (int64_t j = 0; j < n_count; ++j) {
      panel[j] = b[j * col_stride];
    }
    std::fill(panel + n_count, panel + width, 0.0f);
    b += k_stride;
    panel += width;
  }
}

void pack_panel(const GemmProblem& problem, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width,
                float* panel) {
  if (problem.pack != nullptr) {
    problem.pack(problem.pack_state, k, k_count, n, n_count, width, panel);
    return;
  }
  const float* b = problem.b + k * problem.b_k_stride + n * problem.b_col_stride;
  if (problem.b_k_stride == 1 && problem.b_col_stride != 1) {
    pack_transposed(b, problem.b_col_stride, k_count, n_count, width, panel);
  } else {
    pack_rows(b, problem.b_k_stride, problem.b_col_stride, k_count, n_count, width, panel);
  }
}

// The columns [n, n + n_count) that tile.b holds, for `rows` rows from row m.
void multiply_columns(const GemmProblem& problem, GemmTile tile, int64_t m, int64_t rows, int64_t n) {
  tile.c = problem.c + m * problem.c_row_stride + n * problem.c_col_stride;
  tile.row_bias = tile.row_bias == nullptr ? nullptr : tile.row_bias + m;
  tile.col_bias = tile.col_bias == nullptr ? nullptr : tile.col_bias + n;
  if (tile.n_count <= static_cast<int64_t>(hn::Lanes(FloatTag()))) {
    multiply_rows<1>(tile, rows);
  } else {
    multiply_rows<kTileVectors>(tile, rows);
  }
}

void gemm_blocks(const GemmProblem& problem) {
  const int64_t width = kTileVectors * static_cast<int64_t>(hn::Lanes(FloatTag()));
  const bool in_place = problem.pack == nullptr && problem.b_col_stride == 1 && problem.m < kRowsWorthPacking;
  const int64_t depth = std::clamp<int64_t>(problem.k, 1, kMaxDepth);
  const int64_t columns = std::max(kPanelFloats / (depth * width) * width, width);
  alignas(64) float panels[kPanelFloats];

  GemmTile tile{};
  tile.a_row_stride = problem.a_row_stride;
  tile.a_k_stride = problem.a_k_stride;
  tile.c_row_stride = problem.c_row_stride;
  tile.c_col_stride = problem.c_col_stride;
  tile.alpha = problem.alpha;
  for (int64_t n = 0; n < problem.n; n += columns) {
    const int64_t n_end = std::min(problem.n, n + columns);
    for (int64_t k = 0; k == 0 || k < problem.k; k += depth) {
      tile.k_count = std::min(depth, problem.k - k);
      tile.beta = k == 0 ? problem.beta : 1.0f;
      tile.row_bias = k == 0 ? problem.row_bias : nullptr;
      tile.col_bias = k == 0 ? problem.col_bias : nullptr;
      if (!in_place || n_end % width != 0) {
        float* panel = panels;
        for (int64_t j = in_place ? n_end / width * width : n; j < n_end; j += width, panel += tile.k_count * width) {
          pack_panel(problem, k, tile.k_count, j, std::min(width, n_end - j), width, panel);
        }
      }
      for (int64_t m = 0; m < problem.m; m += kTileRows) {
        tile.a = problem.a + m * problem.a_row_stride + k * problem.a_k_stride;
        const float* panel = panels;
        for (int64_t j = n; j < n_end; j += width) {
          tile.n_count = std::min(width, n_end - j);
          tile.b = panel;
          tile.b_k_stride = width;
          if (in_place && tile.n_count == width) {
            tile.b = problem.b + k * problem.b_k_stride + j;
            tile.b_k_stride = problem.b_k_stride;
          } else {
            panel += tile.k_count * width;
          }
          multiply_columns(problem, tile, m, std::min<int64_t>(kTileRows, problem.m - m), j);
        }
      }
    }
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {
HWY_EXPORT(gemm_blocks);

void gemm(const GemmProblem& problem) {
  HWY_DYNAMIC_DISPATCH(gemm_blocks)(problem);
}

}  // namespace torch::executor::native
#endif
