// SPDX-License-Identifier: BSD-3-Clause
// Multiplies one row of activations in groups of 32, as in ggml's most common types, with Arm's dot products. The
// conditions that multiply_row() tests for each group are template arguments here.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/multiply_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

#if ET_LLM_DOTPROD

/// The form of the scales and minima of a group.
enum class CommonGroup {
  Halves,           ///< float16, without minima: Q4_0 and Q8_0
  HalvesAndMinima,  ///< float16: Q4_1
  Products,         ///< factors of a block times bytes: Q4_K
};
constexpr int64_t kCommonColumns = 32;
static_assert(kVectorsOfTile == 4, "of NEON");

// Adds the dot products over a group, from block kBlockAt of its weights on.
template <int kBits, int kBlockAt = 0>
HWY_INLINE void add_common_columns(const uint8_t* weights, const Fours (&activations)[2],
                                   Vec32 (&sums)[kVectorsOfTile]) {
  constexpr int kFours = 8 / kBits, kFour = kBlockAt * kFours;  // a block has kFours groups of four columns
  if constexpr (kFour < kCommonColumns / 4) {
    VecByte block[kVectorsOfTile];
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      block[v] = hn::LoadU(TagByte(), weights + kBlockAt * kBlock + v * 16);
    }
    asm volatile("" ::: "memory");  // else GCC loads all blocks first, and has no registers for them
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      if constexpr (kBits == 8) {
        sums[v] = add_dots<false, kFour % 4>(block[v], activations[kFour / 4], sums[v]);
      } else {
        const VecByte low = with_part<4, 0, 0>(block[v], block[v]), high = with_part<4, 1, 0>(block[v], block[v]);
        sums[v] = add_dots<true, kFour % 4>(low, activations[kFour / 4], sums[v]);
        sums[v] = add_dots<true, kFour % 4 + 1>(high, activations[kFour / 4], sums[v]);
      }
    }
    add_common_columns<kBits, kBlockAt + 1>(weights, activations, sums);
  }
}

/// Loads the int8 scales or minima of a tile.
HWY_INLINE void load_bytes(const uint8_t* from, Vec32 (&to)[kVectorsOfTile]) {
  const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(from));
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
  to[0] = Vec32(vmovl_s16(vget_low_s16(low)));
  to[1] = Vec32(vmovl_high_s16(low));
  to[2] = Vec32(vmovl_s16(vget_low_s16(high)));
  to[3] = Vec32(vmovl_high_s16(high));
}

// totals += sums * scale * scales, with the scales of a tile at `from`.
template <CommonGroup kGroup>
HWY_INLINE void add_scaled(const Vec32 (&sums)[kVectorsOfTile], float scale, const uint8_t* from,
                           VecFloat (&totals)[kVectorsOfTile]) {
  const TagFloat df;
  if constexpr (kGroup == CommonGroup::Products) {
    Vec32 scales[kVectorsOfTile];
    load_bytes(from, scales);
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {  // exact, because products with 4-bit weights are less than 2^24
      totals[v] = hn::MulAdd(hn::ConvertTo(df, hn::Mul(sums[v], scales[v])), hn::Set(df, scale), totals[v]);
    }
  } else {
    VecFloat scales[kVectorsOfTile];
    load_halves(from, scales);
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      const VecFloat scaled = hn::Mul(scales[v], hn::Set(df, scale));
      totals[v] = hn::MulAdd(hn::ConvertTo(df, sums[v]), scaled, totals[v]);
    }
  }
}

// totals -= sum * minima, with the minima of a tile at `from`.
template <CommonGroup kGroup>
HWY_INLINE void subtract_minima(float sum, const uint8_t* from, VecFloat (&totals)[kVectorsOfTile]) {
  const TagFloat df;
  VecFloat minima[kVectorsOfTile];
  if constexpr (kGroup == CommonGroup::Products) {
    Vec32 bytes[kVectorsOfTile];
    load_bytes(from, bytes);
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      minima[v] = hn::ConvertTo(df, bytes[v]);
    }
  } else {
    load_halves(from, minima);
  }
  ET_LLM_UNROLL
  for (int v = 0; v < kVectorsOfTile; ++v) {
    totals[v] = hn::NegMulAdd(minima[v], hn::Set(df, sum), totals[v]);
  }
}

// The groups of a row of activations; add_groups() advances the pointers from group to group.
struct CommonRow {
  const int8_t* values;
  const float* scales;
  const float* scaled_sums;
  const int32_t* sums;
};

// Adds the dot products over a block of groups of a tile, whose weights begin at `at`. The factors of the block are not
// applied: with factors, the minima's part is subtracted from `minima`, otherwise from `totals`.
template <int kBits, CommonGroup kGroup>
HWY_INLINE void add_groups(const PackedWeights& w, CommonRow& row, const uint8_t*& at,
                           VecFloat (&totals)[kVectorsOfTile], VecFloat (&minima)[kVectorsOfTile]) {
  constexpr bool kHasMinima = kGroup != CommonGroup::Halves, kIsProduct = kGroup == CommonGroup::Products;
  constexpr int64_t kScaleBytes = kTileOutputs * (kIsProduct ? 1 : 2);
  constexpr int64_t kWeightsAt = kScaleBytes * (kHasMinima ? 2 : 1);
  for (int64_t left = w.block_groups; left > 0; --left) {
    Vec32 sums[kVectorsOfTile];
    const Vec32 start = kHasMinima || kBits == 8 ? hn::Zero(Tag32()) : hn::Set(Tag32(), -w.zero_point * *row.sums++);
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      sums[v] = start;
    }
    const Fours fours[] = {hn::LoadU(TagInt8(), row.values), hn::LoadU(TagInt8(), row.values + 16)};
    row.values += kCommonColumns;
    add_common_columns<kBits>(at + kWeightsAt, fours, sums);
    add_scaled<kGroup>(sums, *row.scales++, at, totals);
    if constexpr (kHasMinima) {
      subtract_minima<kGroup>(*row.scaled_sums++, at + kScaleBytes, kIsProduct ? minima : totals);
    }
    at += kWeightsAt + kCommonColumns * kTileOutputs * kBits / 8;
  }
}

template <int kBits, CommonGroup kGroup>
HWY_NOINLINE void multiply_row_of_common_groups(const PackedWeights& w, const QuantizedRows& rows, int64_t row,
                                                int64_t tile, float* out) {
  const TagFloat df;
  CommonRow of_row{rows.values + row * w.padded_columns(), rows.scales + row * w.groups,
                   rows.scaled_sums + row * w.groups, rows.sums + row * w.groups};
  const uint8_t* at = w.blocks_of(tile);
  VecFloat totals[kVectorsOfTile], scaled[kVectorsOfTile], minima[kVectorsOfTile];
  ET_LLM_UNROLL
  for (int v = 0; v < kVectorsOfTile; ++v) {
    totals[v] = hn::Zero(df);
  }
  for (int64_t blocks = w.blocks(); blocks > 0; --blocks) {
    if constexpr (kGroup != CommonGroup::Products) {
      add_groups<kBits, kGroup>(w, of_row, at, totals, minima);
      continue;
    }
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {
      scaled[v] = minima[v] = hn::Zero(df);
    }
    const uint8_t* const factors = at;
    at += w.factor_bytes;
    add_groups<kBits, kGroup>(w, of_row, at, scaled, minima);
    ET_LLM_UNROLL
    for (int v = 0; v < kVectorsOfTile; ++v) {  // the minima are negative
      totals[v] = hn::MulAdd(scaled[v], halves_at(factors, v), totals[v]);
      totals[v] = hn::MulAdd(minima[v], halves_at(factors + kTileOutputs * 2, v), totals[v]);
    }
  }
  store_row(w, tile, rows.offsets[row], totals, out + row * w.rows);
}

#endif

/// The function that multiplies a row by these weights.
template <int kBits>
decltype(&multiply_row<kBits, Bytes::AsStored>) multiply_row_by(const PackedWeights& w) {
#if ET_LLM_DOTPROD
  const bool is_common = w.group == kCommonColumns && !w.wide_scales;
  // With minima, sums start at zero.
  const bool has_common_minima = w.has_minima && w.zero_point == 0;
  if constexpr (kBits == 8) {
    if (is_common && !w.block_factors && !w.has_minima && w.signed_bytes && w.zero_point == zero_point_shift(8)) {
      return multiply_row_of_common_groups<8, CommonGroup::Halves>;
    }
  }
  if constexpr (kBits == 4) {
    if (is_common && !w.block_factors && !w.has_minima) {
      return multiply_row_of_common_groups<4, CommonGroup::Halves>;
    }
    if (is_common && has_common_minima) {
      return w.block_factors ? multiply_row_of_common_groups<4, CommonGroup::Products>
                             : multiply_row_of_common_groups<4, CommonGroup::HalvesAndMinima>;
    }
  }
#endif
  if constexpr (kBits == 8 && kHasSignedDots) {
    if (w.signed_bytes && !w.row_activations) {  // symmetric activations are never -128
      return multiply_row<kBits, Bytes::Signed>;
    }
  }
  if constexpr (kBits == 8) {
    if (flipped_bits(w) != 0) {
      return multiply_row<kBits, Bytes::Flipped>;
    }
  }
  return multiply_row<kBits, Bytes::AsStored>;
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
