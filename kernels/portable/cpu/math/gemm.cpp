// SPDX-License-Identifier: BSD-3-Clause
#include <kernels/portable/cpu/math/gemm.h>
#include <kernels/portable/cpu/math/simd.h>

#include <cstring>

namespace torch {
namespace executor {
namespace {

using simd::Floats;

// A tile has kRows x (kVectors * kWidth) accumulators. They must fit in the registers together with a row of B and an
// element of A.
struct Baseline {
#if defined(__AVX2__) && defined(__FMA__)
  static constexpr int kWidth = 8, kVectors = 2, kRows = 6;  // 12 of 16 registers
#elif defined(__aarch64__)
  static constexpr int kWidth = 4, kVectors = 4, kRows = 6;  // 24 of 32 registers
#elif defined(__x86_64__) || defined(__ARM_NEON) || defined(_M_X64)
  static constexpr int kWidth = 4, kVectors = 2, kRows = 6;  // 12 of 16 registers
#else
  static constexpr int kWidth = 4, kVectors = 1, kRows = 4;  // scalars: 16 of 32 registers
#endif
};
#if ET_HAS_AVX2_VERSION
struct Avx2 {
  static constexpr int kWidth = 8, kVectors = 2, kRows = 6;  // 12 of 16 registers
};
#endif

// The operands of a tile. The counts are those of its part inside the matrices.
struct Tile {
  const float* a;
  int64_t a_row_stride;
  int64_t a_k_stride;
  const float* b;
  int64_t b_row_stride;
  float* c;
  int64_t c_row_stride;
  int64_t c_col_stride;
  const float* row_start;
  bool accumulate;
  int64_t k_count;
  int64_t n_count;
};

template <int kWidth, int kRows, int kVectors>
ET_ALWAYS_INLINE void multiply_tile(const Tile& tile) {
  Floats<kWidth> sum[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v].fill(0.0f);
    }
  }
  const float* a = tile.a;
  const float* b = tile.b;
  const int64_t a_row_stride = tile.a_row_stride;
  const int64_t a_k_stride = tile.a_k_stride;
  for (int64_t k = 0; k < tile.k_count; ++k) {
    Floats<kWidth> row[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      row[v].load(b + v * kWidth);
    }
    for (int i = 0; i < kRows; ++i) {
      const float x = a[i * a_row_stride];
      for (int v = 0; v < kVectors; ++v) {
        sum[i][v].add_product(x, row[v]);
      }
    }
    a += a_k_stride;
    b += tile.b_row_stride;
  }

  constexpr int64_t kColumns = kVectors * kWidth;
  for (int i = 0; i < kRows; ++i) {
    float* c = tile.c + i * tile.c_row_stride;
    Floats<kWidth> start;
    start.fill(tile.row_start == nullptr ? 0.0f : tile.row_start[i]);
    if (tile.c_col_stride == 1 && tile.n_count >= kColumns) {
      for (int v = 0; v < kVectors; ++v) {
        if (tile.accumulate) {
          start.load(c + v * kWidth);
        }
        sum[i][v].add(start);
        sum[i][v].store(c + v * kWidth);
      }
    } else {
      float values[kColumns];
      for (int v = 0; v < kVectors; ++v) {
        sum[i][v].add(start);
        sum[i][v].store(values + v * kWidth);
      }
      const int64_t count = tile.n_count < kColumns ? tile.n_count : kColumns;
      for (int64_t j = 0; j < count; ++j) {
        float& out = c[j * tile.c_col_stride];
        out = tile.accumulate ? out + values[j] : values[j];
      }
    }
  }
}

// Computes all rows of C for one panel of B (kVectors * kWidth columns).
template <typename Isa, int kVectors>
ET_ALWAYS_INLINE void multiply_rows(Tile tile, int64_t rows) {
  const auto advance = [&tile, &rows](int64_t count) {
    tile.a += count * tile.a_row_stride;
    tile.c += count * tile.c_row_stride;
    tile.row_start = tile.row_start == nullptr ? nullptr : tile.row_start + count;
    rows -= count;
  };
  while (rows >= Isa::kRows) {
    multiply_tile<Isa::kWidth, Isa::kRows, kVectors>(tile);
    advance(Isa::kRows);
  }
  if (Isa::kRows > 4 && rows >= 4) {
    multiply_tile<Isa::kWidth, 4, kVectors>(tile);
    advance(4);
  }
  if (rows >= 2) {
    multiply_tile<Isa::kWidth, 2, kVectors>(tile);
    advance(2);
  }
  if (rows >= 1) {
    multiply_tile<Isa::kWidth, 1, kVectors>(tile);
  }
}

template <typename Isa>
ET_ALWAYS_INLINE void multiply_panel(const Tile& tile, int64_t rows) {
  // For a last panel with few columns, narrow tiles waste less.
  if (Isa::kVectors > 1 && tile.n_count <= Isa::kWidth) {
    multiply_rows<Isa, 1>(tile, rows);
  } else {
    multiply_rows<Isa, Isa::kVectors>(tile, rows);
  }
}

// With one row of A, B is read only once, so it is not packed. It is read in memory order: kStreams rows at a time are
// multiplied and added to a strip of C that stays in the L1 cache.
constexpr int kStreams = 8;
constexpr int64_t kStripColumns = 1024;

template <int kCount>
ET_ALWAYS_INLINE void add_rows(const float* a, const float* b, int64_t b_row_stride, float* c, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    float sum = c[j];
    for (int i = 0; i < kCount; ++i) {
      sum += a[i] * b[i * b_row_stride + j];
    }
    c[j] = sum;
  }
}

ET_ALWAYS_INLINE void multiply_one_row(const float* a, const float* b, int64_t b_row_stride, float* c, int64_t k_count,
                                       int64_t columns) {
  for (int64_t n = 0; n < columns; n += kStripColumns) {
    const int64_t strip = columns - n < kStripColumns ? columns - n : kStripColumns;
    int64_t k = 0;
    for (; k + kStreams <= k_count; k += kStreams) {
      add_rows<kStreams>(a + k, b + k * b_row_stride + n, b_row_stride, c + n, strip);
    }
    for (; k < k_count; ++k) {
      add_rows<1>(a + k, b + k * b_row_stride + n, b_row_stride, c + n, strip);
    }
  }
}

using PanelFunction = void (*)(const Tile& tile, int64_t rows);
using OneRowFunction = void (*)(const float*, const float*, int64_t, float*, int64_t, int64_t);
struct Version {
  int64_t columns;  // of a panel
  PanelFunction panel;
  OneRowFunction one_row;
};

void panel_baseline(const Tile& tile, int64_t rows) {
  multiply_panel<Baseline>(tile, rows);
}
void one_row_baseline(const float* a, const float* b, int64_t b_row_stride, float* c, int64_t k_count,
                      int64_t columns) {
  multiply_one_row(a, b, b_row_stride, c, k_count, columns);
}
#if ET_HAS_AVX2_VERSION
ET_TARGET_AVX2 void panel_avx2(const Tile& tile, int64_t rows) {
  multiply_panel<Avx2>(tile, rows);
}
ET_TARGET_AVX2 void one_row_avx2(const float* a, const float* b, int64_t b_row_stride, float* c, int64_t k_count,
                                 int64_t columns) {
  multiply_one_row(a, b, b_row_stride, c, k_count, columns);
}
#endif

Version best_version() {
#if ET_HAS_AVX2_VERSION
  if (simd::has_avx2()) {
    return {Avx2::kWidth * Avx2::kVectors, panel_avx2, one_row_avx2};
  }
#endif
  return {Baseline::kWidth * Baseline::kVectors, panel_baseline, one_row_baseline};
}

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Writes the initial values of C, to which callers add the products; if k = 0 there are none.
void start_only(const GemmProblem& problem) {
  if (problem.accumulate) {
    return;
  }
  for (int64_t i = 0; i < problem.m; ++i) {
    for (int64_t j = 0; j < problem.n; ++j) {
      problem.c[i * problem.c_row_stride + j * problem.c_col_stride] =
          problem.row_start == nullptr ? 0.0f : problem.row_start[i];
    }
  }
}

}  // namespace

void gemm(const GemmProblem& problem) {
  if (problem.k == 0) {
    start_only(problem);
    return;
  }
  const Version version = best_version();
  alignas(64) float panel[kGemmPanelFloats];
  const StridedMatrix matrix{problem.b, problem.b_row_stride, 1};
  const GemmPackFunction pack = problem.pack != nullptr ? problem.pack : gemm_pack_strided;
  const void* pack_state = problem.pack != nullptr ? problem.pack_state : &matrix;
  const int64_t block_k = kGemmPanelFloats / version.columns;
  // Copying a panel pays off once several rows of A read it.
  const bool direct = problem.b != nullptr && problem.m < 8;
  if (direct && problem.m == 1 && problem.a_k_stride == 1 && problem.c_col_stride == 1) {
    start_only(problem);
    version.one_row(problem.a, problem.b, problem.b_row_stride, problem.c, problem.k, problem.n);
    return;
  }

  Tile tile{};
  tile.a_row_stride = problem.a_row_stride;
  tile.a_k_stride = problem.a_k_stride;
  tile.c_row_stride = problem.c_row_stride;
  tile.c_col_stride = problem.c_col_stride;
  for (int64_t n = 0; n < problem.n; n += version.columns) {
    tile.n_count = smaller(version.columns, problem.n - n);
    const bool in_place = direct && tile.n_count == version.columns;
    const int64_t step_k = in_place ? problem.k : block_k;
    tile.c = problem.c + n * problem.c_col_stride;
    for (int64_t k = 0; k < problem.k; k += step_k) {
      tile.k_count = smaller(step_k, problem.k - k);
      tile.a = problem.a + k * problem.a_k_stride;
      tile.accumulate = problem.accumulate || k > 0;
      tile.row_start = tile.accumulate ? nullptr : problem.row_start;
      if (in_place) {
        tile.b = problem.b + n;
        tile.b_row_stride = problem.b_row_stride;
      } else {
        pack(pack_state, k, tile.k_count, n, tile.n_count, version.columns, panel);
        tile.b = panel;
        tile.b_row_stride = version.columns;
      }
      version.panel(tile, problem.m);
    }
  }
}

void gemm_pack_strided(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width,
                       float* panel) {
  const StridedMatrix& matrix = *static_cast<const StridedMatrix*>(state);
  const float* source = matrix.data + k * matrix.row_stride + n * matrix.col_stride;
  if (matrix.row_stride == 1) {  // a transposed matrix: read along its rows
    for (int64_t j = 0; j < n_count; ++j) {
      for (int64_t row = 0; row < k_count; ++row) {
        panel[row * width + j] = source[j * matrix.col_stride + row];
      }
    }
    for (int64_t row = 0; row < k_count; ++row) {
      for (int64_t j = n_count; j < width; ++j) {
        panel[row * width + j] = 0.0f;
      }
    }
    return;
  }
  for (int64_t row = 0; row < k_count; ++row) {
    float* out = panel + row * width;
    const float* in = source + row * matrix.row_stride;
    if (matrix.col_stride == 1) {
      std::memcpy(out, in, static_cast<size_t>(n_count) * sizeof(float));
    } else {
      for (int64_t j = 0; j < n_count; ++j) {
        out[j] = in[j * matrix.col_stride];
      }
    }
    for (int64_t j = n_count; j < width; ++j) {
      out[j] = 0.0f;
    }
  }
}

}  // namespace executor
}  // namespace torch
