// SPDX-License-Identifier: BSD-3-Clause
// The microkernel of gemm(): a tile of kRows x kVectors vectors, whose accumulators are in registers. Included once for
// each instruction set.
#include <algorithm>

#include "hwy/highway.h"
#include "kernels/simd/gemm.h"

#if defined(ET_SIMD_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_SIMD_GEMM_TILE_INL_H
#undef ET_SIMD_GEMM_TILE_INL_H
#else
#define ET_SIMD_GEMM_TILE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// The size of a tile. Its accumulators take 6 x 2 of the 16 registers that x86 has before AVX-512; the others hold a
/// row of B and an element of A. On NEON they take 8 x 2 of 32; the others hold four elements of each row of A, by
/// whose lanes it multiplies, and a row of B.
#if HWY_ARCH_ARM_A64
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileVectors = 2;
/// The compiler keeps the arrays of a tile in registers only if it unrolls each loop over them.
#if HWY_COMPILER_MSVC
#define ET_SIMD_UNROLL
#else
#define ET_SIMD_UNROLL _Pragma("GCC unroll 16")
#endif

/// The operands of a tile. k_count and n_count are those of its part inside the matrices.
struct GemmTile {
  const float* a;
  int64_t a_row_stride;
  int64_t a_k_stride;
  const float* b;  ///< a panel: kVectors vectors for each k, b_k_stride floats apart
  int64_t b_k_stride;
  int64_t k_count;
  float* c;
  int64_t c_row_stride;
  int64_t c_col_stride;
  int64_t n_count;
  float alpha;
  float beta;
  const float* row_bias;
  const float* col_bias;
};

template <int kRows, int kVectors>
HWY_INLINE void store_tile(const GemmTile& tile, const FloatVec (&sums)[kRows][kVectors]) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatVec alpha = hn::Set(d, tile.alpha);
  const FloatVec beta = hn::Set(d, tile.beta);
  if (tile.c_col_stride == 1 && tile.n_count >= kVectors * lanes) {
    ET_SIMD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      float* c = tile.c + i * tile.c_row_stride;
      const FloatVec bias = hn::Set(d, tile.row_bias == nullptr ? 0.0f : tile.row_bias[i]);
      ET_SIMD_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        FloatVec start = bias;
        if (tile.col_bias != nullptr) {
          start = hn::Add(start, hn::LoadU(d, tile.col_bias + v * lanes));
        }
        if (tile.beta != 0.0f) {
          start = hn::MulAdd(beta, hn::LoadU(d, c + v * lanes), start);
        }
        hn::StoreU(hn::MulAdd(alpha, sums[i][v], start), d, c + v * lanes);
      }
    }
    return;
  }
  alignas(64) float values[kRows * kGemmMaxPanelWidth];
  ET_SIMD_UNROLL
  for (int i = 0; i < kRows; ++i) {
    ET_SIMD_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[i][v], d, values + i * kGemmMaxPanelWidth + v * lanes);
    }
  }
  const int64_t columns = std::min<int64_t>(tile.n_count, kVectors * lanes);
  for (int64_t j = 0; j < columns; ++j) {
    const float column_bias = tile.col_bias == nullptr ? 0.0f : tile.col_bias[j];
    for (int i = 0; i < kRows; ++i) {
      float* c = tile.c + i * tile.c_row_stride + j * tile.c_col_stride;
      float start = column_bias + (tile.row_bias == nullptr ? 0.0f : tile.row_bias[i]);
      if (tile.beta != 0.0f) {
        start += tile.beta * *c;
      }
      *c = tile.alpha * values[i * kGemmMaxPanelWidth + j] + start;
    }
  }
}

/// A row of B.
template <int kVectors>
HWY_INLINE void load_row(const float* b, FloatVec (&row)[kVectors]) {
  const FloatTag d;
  ET_SIMD_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    row[v] = hn::LoadU(d, b + v * static_cast<int64_t>(hn::Lanes(d)));
  }
}

#if HWY_ARCH_ARM_A64
/// Adds the product of lane kLane of each `x` and a row of B.
template <int kLane, int kRows, int kVectors>
HWY_INLINE void add_lane(const FloatVec* x, const FloatVec (&row)[kVectors], FloatVec (&sums)[kRows][kVectors]) {
  ET_SIMD_UNROLL
  for (int i = 0; i < kRows; ++i) {
    ET_SIMD_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = FloatVec(vfmaq_laneq_f32(sums[i][v].raw, row[v].raw, x[i].raw, kLane));
    }
  }
}

/// Keeps each accumulator in its register: GCC would move some between the two steps of a loop. Has no other effect.
template <int kRows, int kVectors>
HWY_INLINE void keep_registers(FloatVec (&sums)[kRows][kVectors]) {
#if HWY_COMPILER_GCC
  ET_SIMD_UNROLL
  for (int i = 0; i < kRows; ++i) {
    ET_SIMD_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      asm("" : "+w"(sums[i][v].raw));
    }
  }
#else
  (void)sums;
#endif
}

/// Adds the products of four columns of rows of A, each contiguous, and four rows of B.
template <int kRows, int kVectors>
HWY_INLINE void add_four(const float* a, int64_t a_row_stride, const float* b, int64_t b_k_stride,
                         FloatVec (&sums)[kRows][kVectors]) {
  FloatVec x[kRows];
  ET_SIMD_UNROLL
  for (int i = 0; i < kRows; ++i) {
    x[i] = hn::LoadU(FloatTag(), a + i * a_row_stride);
  }
  FloatVec row[kVectors];
  load_row(b, row);
  add_lane<0>(x, row, sums);
  load_row(b + b_k_stride, row);
  add_lane<1>(x, row, sums);
  load_row(b + 2 * b_k_stride, row);
  add_lane<2>(x, row, sums);
  load_row(b + 3 * b_k_stride, row);
  add_lane<3>(x, row, sums);
}
#endif

/// The layout of a tile's operands: any layout, or packed: four k of each row of A are contiguous, [k / 4][kRows][4],
/// the rows of B are contiguous, alpha is 1, and nothing is added.
enum class TileLayout { Strided, Packed };

template <int kRows, int kVectors, TileLayout kLayout>
HWY_NOINLINE void multiply_tile(const GemmTile& tile) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr bool kPacked = kLayout == TileLayout::Packed;
  FloatVec sums[kRows][kVectors];
  ET_SIMD_UNROLL
  for (int i = 0; i < kRows; ++i) {
    ET_SIMD_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = hn::Zero(d);
    }
  }
  const float* a = tile.a;
  const float* b = tile.b;
  const int64_t a_row_stride = kPacked ? 4 : tile.a_row_stride;
  const int64_t a_k_stride = kPacked ? 1 : tile.a_k_stride;
  const int64_t b_k_stride = kPacked ? kVectors * lanes : tile.b_k_stride;
  int64_t k = tile.k_count;
#if HWY_ARCH_ARM_A64
  if (a_k_stride == 1) {
    // Packed operands, eight k at a time: the addresses change half as often.
    for (; kPacked && k >= 8; k -= 8) {
      add_four(a, a_row_stride, b, b_k_stride, sums);
      keep_registers(sums);
      add_four(a + 4 * kRows, a_row_stride, b + 4 * b_k_stride, b_k_stride, sums);
      a += 8 * kRows;
      b += 8 * b_k_stride;
    }
    while (k >= 4) {
      add_four(a, a_row_stride, b, b_k_stride, sums);
      a += kPacked ? 4 * kRows : 4;
      b += 4 * b_k_stride;
      k -= 4;
      if (kPacked) {
        break;  // there were fewer than eight
      }
    }
  }
#endif
  for (; k > 0; --k) {
    FloatVec row[kVectors];
    load_row(b, row);
    ET_SIMD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const FloatVec x = hn::Set(d, a[i * a_row_stride]);
      ET_SIMD_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(x, row[v], sums[i][v]);
      }
    }
    a += a_k_stride;
    b += b_k_stride;
  }
  if (kPacked && tile.n_count >= kVectors * lanes) {
    ET_SIMD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      ET_SIMD_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sums[i][v], d, tile.c + i * tile.c_row_stride + v * lanes);
      }
    }
    return;
  }
  store_tile<kRows, kVectors>(tile, sums);
}

/// Computes a tile of `rows` rows, from 1 to kMostRows.
template <int kVectors, TileLayout kLayout = TileLayout::Strided, int kMostRows = kTileRows>
HWY_INLINE void multiply_rows(const GemmTile& tile, int64_t rows) {
  if constexpr (kMostRows > 1) {
    if (rows < kMostRows) {
      return multiply_rows<kVectors, kLayout, kMostRows - 1>(tile, rows);
    }
  }
  multiply_tile<kMostRows, kVectors, kLayout>(tile);
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
