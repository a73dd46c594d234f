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

/// The size of a tile. Its accumulators take 6 x 2 of the 16 registers that x86 has before AVX-512, and 6 x 4 of the 32
/// of NEON. The other registers hold a row of B and an element of A.
constexpr int kTileRows = 6;
#if HWY_ARCH_ARM_A64
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
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
    for (int i = 0; i < kRows; ++i) {
      float* c = tile.c + i * tile.c_row_stride;
      const FloatVec bias = hn::Set(d, tile.row_bias == nullptr ? 0.0f : tile.row_bias[i]);
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
  for (int i = 0; i < kRows; ++i) {
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

template <int kRows, int kVectors>
HWY_NOINLINE void multiply_tile(const GemmTile& tile) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec sums[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = hn::Zero(d);
    }
  }
  const float* a = tile.a;
  const float* b = tile.b;
  const int64_t a_row_stride = tile.a_row_stride;
  const int64_t a_k_stride = tile.a_k_stride;
  const int64_t b_k_stride = tile.b_k_stride;
  for (int64_t k = tile.k_count; k > 0; --k) {
    FloatVec row[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      row[v] = hn::LoadU(d, b + v * lanes);
    }
    for (int i = 0; i < kRows; ++i) {
      const FloatVec x = hn::Set(d, a[i * a_row_stride]);
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(x, row[v], sums[i][v]);
      }
    }
    a += a_k_stride;
    b += b_k_stride;
  }
  store_tile<kRows, kVectors>(tile, sums);
}

/// Computes a tile of `rows` rows, from 1 to kTileRows.
template <int kVectors>
HWY_INLINE void multiply_rows(const GemmTile& tile, int64_t rows) {
  switch (rows) {
    case 1:
      return multiply_tile<1, kVectors>(tile);
    case 2:
      return multiply_tile<2, kVectors>(tile);
    case 3:
      return multiply_tile<3, kVectors>(tile);
    case 4:
      return multiply_tile<4, kVectors>(tile);
    case 5:
      return multiply_tile<5, kVectors>(tile);
    default:
      return multiply_tile<kTileRows, kVectors>(tile);
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
