// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/gemm.cpp"
#include "kernels/simd/gemm.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "hwy/cache_control.h"
#include "kernels/simd/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

// Floats of packed B on the stack: 64 KiB, which stay in the L2 cache while all rows of A are multiplied by them.
constexpr int64_t kPanelFloats = 16384;
// The most k of a packed block. The six rows of A in a tile then stay in the L1 cache for all panels.
constexpr int64_t kMaxDepth = 256;
// With fewer rows of A, there is one tile of rows, so that B is read only once: in place, if its layout allows it.
// Packing pays off as soon as B is read twice.
constexpr int64_t kRowsWorthPacking = kTileRows + 1;

// Packs B with unit stride along k: a transposed matrix.
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
      hwy::Prefetch(b + width);  // row of the next panel
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
    problem.pack(problem.pack_state, k, k_count, problem.pack_from + n, n_count, width, panel);
    return;
  }
  const float* b = problem.b + k * problem.b_k_stride + n * problem.b_col_stride;
  if (problem.b_k_stride == 1 && problem.b_col_stride != 1) {
    pack_transposed(b, problem.b_col_stride, k_count, n_count, width, panel);
  } else {
    pack_rows(b, problem.b_k_stride, problem.b_col_stride, k_count, n_count, width, panel);
  }
}

// Computes `rows` rows from row m on, for the columns [n, n + n_count) that tile.b holds.
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

// A matrix (m x k) times a vector, both with unit stride along k. The rows of A are read once, kRows at a time.
template <int kRows>
void multiply_vector_rows(const GemmProblem& problem, int64_t m) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* a = problem.a + m * problem.a_row_stride;
  FloatVec sums[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    sums[i][0] = hn::Zero(d);
    sums[i][1] = hn::Zero(d);
  }
  int64_t k = 0;
  for (; k + 2 * lanes <= problem.k; k += 2 * lanes) {
    const FloatVec b0 = hn::LoadU(d, problem.b + k);
    const FloatVec b1 = hn::LoadU(d, problem.b + k + lanes);
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = hn::MulAdd(hn::LoadU(d, a + i * problem.a_row_stride + k), b0, sums[i][0]);
      sums[i][1] = hn::MulAdd(hn::LoadU(d, a + i * problem.a_row_stride + k + lanes), b1, sums[i][1]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    float sum = hn::ReduceSum(d, hn::Add(sums[i][0], sums[i][1]));
    for (int64_t j = k; j < problem.k; ++j) {
      sum += a[i * problem.a_row_stride + j] * problem.b[j];
    }
    float* c = problem.c + (m + i) * problem.c_row_stride;
    float start = (problem.row_bias == nullptr ? 0.0f : problem.row_bias[m + i]) +
                  (problem.col_bias == nullptr ? 0.0f : problem.col_bias[0]);
    if (problem.beta != 0.0f) {
      start += problem.beta * *c;
    }
    *c = problem.alpha * sum + start;
  }
}

void multiply_vector(const GemmProblem& problem) {
  int64_t m = 0;
  for (; m + 4 <= problem.m; m += 4) {
    multiply_vector_rows<4>(problem, m);
  }
  for (; m < problem.m; ++m) {
    multiply_vector_rows<1>(problem, m);
  }
}

// One row of A times B with unit column stride. B is read once and in memory order: kStreams rows at a time are
// multiplied and added to a strip of C that stays in the L1 cache.
constexpr int kStreams = 8;
constexpr int64_t kStripColumns = 1024;

template <int kRows>
HWY_INLINE void add_rows(const float* a, const float* b, int64_t b_k_stride, float* c, int64_t columns) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec x[kRows];
  for (int i = 0; i < kRows; ++i) {
    x[i] = hn::Set(d, a[i]);
  }
  int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    FloatVec sum = hn::LoadU(d, c + j);
    for (int i = 0; i < kRows; ++i) {
      sum = hn::MulAdd(x[i], hn::LoadU(d, b + i * b_k_stride + j), sum);
    }
    hn::StoreU(sum, d, c + j);
  }
  for (; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) {
      c[j] += a[i] * b[i * b_k_stride + j];
    }
  }
}

void multiply_row(const GemmProblem& problem) {
  alignas(64) float sums[kStripColumns];
  for (int64_t n = 0; n < problem.n; n += kStripColumns) {
    const int64_t columns = std::min(kStripColumns, problem.n - n);
    std::fill_n(sums, columns, 0.0f);
    const float* b = problem.b + n;
    int64_t k = 0;
    for (; k + kStreams <= problem.k; k += kStreams) {
      add_rows<kStreams>(problem.a + k, b + k * problem.b_k_stride, problem.b_k_stride, sums, columns);
    }
    for (; k < problem.k; ++k) {
      add_rows<1>(problem.a + k, b + k * problem.b_k_stride, problem.b_k_stride, sums, columns);
    }
    float* c = problem.c + n;
    const float row_bias = problem.row_bias == nullptr ? 0.0f : problem.row_bias[0];
    for (int64_t j = 0; j < columns; ++j) {
      float start = row_bias + (problem.col_bias == nullptr ? 0.0f : problem.col_bias[n + j]);
      if (problem.beta != 0.0f) {
        start += problem.beta * c[j];
      }
      c[j] = problem.alpha * sums[j] + start;
    }
  }
}

void gemm_blocks(const GemmProblem& problem) {
  const int64_t width = kTileVectors * static_cast<int64_t>(hn::Lanes(FloatTag()));
  const bool in_place = problem.pack == nullptr && problem.b_col_stride == 1 && problem.m < kRowsWorthPacking;
  const int64_t depth = std::clamp<int64_t>(problem.k, 1, kMaxDepth);
  const int64_t columns = std::max(kPanelFloats / (depth * width) * width, width);
  alignas(64) float panels[kPanelFloats + kGemmMaxPanelWidth];

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
HWY_EXPORT(multiply_row);
HWY_EXPORT(multiply_vector);

namespace {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;

// The transposed product: C^T = B^T A^T.
GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem other = problem;
  other.m = problem.n;
  other.n = problem.m;
  other.a = problem.b;
  other.a_row_stride = problem.b_col_stride;
  other.a_k_stride = problem.b_k_stride;
  other.b = problem.a;
  other.b_k_stride = problem.a_k_stride;
  other.b_col_stride = problem.a_row_stride;
  other.c_row_stride = problem.c_col_stride;
  other.c_col_stride = problem.c_row_stride;
  other.row_bias = problem.col_bias;
  other.col_bias = problem.row_bias;
  return other;
}

// The part of a product for rows [m, m_end) and columns [n, n_end) of C.
GemmProblem part(const GemmProblem& problem, int64_t m, int64_t m_end, int64_t n, int64_t n_end) {
  GemmProblem piece = problem;
  piece.m = m_end - m;
  piece.n = n_end - n;
  piece.a = problem.a + m * problem.a_row_stride;
  piece.b = problem.b == nullptr ? nullptr : problem.b + n * problem.b_col_stride;
  piece.pack_from = problem.pack_from + n;
  piece.c = problem.c + m * problem.c_row_stride + n * problem.c_col_stride;
  piece.row_bias = problem.row_bias == nullptr ? nullptr : problem.row_bias + m;
  piece.col_bias = problem.col_bias == nullptr ? nullptr : problem.col_bias + n;
  return piece;
}

constexpr int64_t kColumnUnit = kGemmMaxPanelWidth;
constexpr int64_t kRowUnit = kGemmRowUnit;  // whole tiles

using Multiply = void (*)(const GemmProblem&);

// Chooses the function for a whole product. All parts use the same one, so that results do not depend on the number of
// threads.
Multiply multiply_for(const GemmProblem& problem) {
  if (problem.pack == nullptr && problem.a_k_stride == 1) {
    if (problem.n == 1 && problem.b_k_stride == 1) {
      return HWY_DYNAMIC_POINTER(multiply_vector);
    }
    if (problem.m == 1 && problem.b_col_stride == 1 && problem.c_col_stride == 1) {
      return HWY_DYNAMIC_POINTER(multiply_row);
    }
  }
  return HWY_DYNAMIC_POINTER(gemm_blocks);
}

// How threads share a product: by columns if there are enough of them, so that each thread packs only its columns of B;
// else by rows, and each thread packs all of B.
struct Shares {
  bool by_columns;
  int64_t units;
  int64_t grain;

  explicit Shares(const GemmProblem& problem) {
    const int64_t column_units = (problem.n + kColumnUnit - 1) / kColumnUnit;
    const int64_t row_units = (problem.m + kRowUnit - 1) / kRowUnit;
    by_columns = column_units >= row_units;
    units = by_columns ? column_units : row_units;
    grain =
        grain_for(GRAIN_PRODUCTS, {by_columns ? kColumnUnit : kRowUnit, by_columns ? problem.m : problem.n, problem.k});
  }
};

void gemm_shared(const GemmProblem& problem) {
  const Shares shares(problem);
  const Multiply multiply = multiply_for(problem);
  executorch::extension::parallel_for(0, shares.units, shares.grain, [&](int64_t begin, int64_t end) {
    const GemmProblem piece =
        shares.by_columns ? part(problem, 0, problem.m, begin * kColumnUnit, std::min(problem.n, end * kColumnUnit))
                          : part(problem, begin * kRowUnit, std::min(problem.m, end * kRowUnit), 0, problem.n);
    multiply(piece);
  });
}

// Whether to compute the transposed product. A transposed B, such as a linear layer's weight, then becomes the
// operand A, which is read without packing, and the smaller matrix is packed.
bool is_swapped(const GemmProblem& problem) {
  return problem.pack == nullptr && problem.b_k_stride == 1 && problem.b_col_stride != 1 && problem.m < problem.n;
}

}  // namespace

int64_t gemm_parts(const GemmProblem& problem) {
  const Shares shares(is_swapped(problem) ? transposed(problem) : problem);
  return std::max<int64_t>((shares.units + shares.grain - 1) / shares.grain, 1);
}

void gemm(const GemmProblem& problem) {
  if (problem.m == 0 || problem.n == 0) {
    return;
  }
  if (problem.k == 0) {  // the sums are 0; the matrices may have no memory
    const float nothing = 0.0f;
    GemmProblem sums = problem;
    sums.a = sums.b = &nothing;
    sums.a_row_stride = sums.b_col_stride = 0;
    gemm_shared(sums);
    return;
  }
  gemm_shared(is_swapped(problem) ? transposed(problem) : problem);
}

}  // namespace torch::executor::native
#endif
