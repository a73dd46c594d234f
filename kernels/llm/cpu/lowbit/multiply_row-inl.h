// SPDX-License-Identifier: BSD-3-Clause
// Multiplies one row of activations. Weights are unpacked in registers, not in memory.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/dots-inl.h"
#include "kernels/llm/cpu/lowbit/multiply.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

/// How the bytes of 8-bit weights are multiplied.
enum class Bytes {
  AsStored,
  Flipped,  ///< see flipped_bits()
  Signed,   ///< by add_signed_dots()
};

// Adds the dot products over 4 * kCount columns, which are whole units, from column 4 * kFour on. `fours` has the
// activations from the previous multiple of 16 columns on.
template <int kBits, Bytes kBytes, int kCount, int kFour = 0>
HWY_INLINE void add_columns(const uint8_t* units, const int8_t* activations, Fours fours,
                            Vec32 (&sums)[kVectorsOfTile]) {
  if constexpr (kFour < kCount) {
    constexpr int kUnit = static_cast<int>(unit_of(kBits)),
                  kUnitBytes = kUnit * static_cast<int>(kTileOutputs) * kBits / 8;
    if constexpr (kFour % 4 == 0) {
      fours = fours_at<kCount - kFour>(activations + kFour * 4);
    }
    const uint8_t* unit = units + kFour / (kUnit / 4) * kUnitBytes;
    for (int v = 0; v < kVectorsOfTile; ++v) {
      VecByte weights = weights_at<kBits, kFour % (kUnit / 4)>(unit + v * kLanes32 * 4);
      if constexpr (kBytes == Bytes::Signed) {
        sums[v] = add_signed_dots<kFour>(weights, activations, sums[v]);
        continue;
      }
      if constexpr (kBytes == Bytes::Flipped) {
        weights = hn::Xor(weights, hn::Set(TagByte(), uint8_t{0x80}));
      }
      sums[v] = add_dots<(kBits < 8), kFour % 4>(weights, fours, sums[v]);
    }
    add_columns<kBits, kBytes, kCount, kFour + 1>(units, activations, fours, sums);
  }
}

// Recursive, because GCC would keep the totals of a loop in memory.
template <int kVector = 0>
HWY_INLINE void store_row(const PackedWeights& w, int64_t tile, float offset, const VecFloat (&totals)[kVectorsOfTile],
                          float* out) {
  if constexpr (kVector < kVectorsOfTile) {
    store_outputs(w, tile, kVector, without_offset(w, tile, kVector, offset, totals[kVector]), out);
    store_row<kVector + 1>(w, tile, offset, totals, out);
  }
}

// The columns of an iteration of the loop. With Arm's dot products, whose operands fit in registers, a group of 32 is
// one iteration.
constexpr int64_t kStepColumns = ET_LLM_DOTPROD ? 32 : 16;

template <int kBits, Bytes kBytes>
HWY_NOINLINE void multiply_row(const PackedWeights& w, const QuantizedRows& rows, int64_t row, int64_t tile,
                               float* out) {
  const TagFloat df;
  constexpr int64_t kUnit = unit_of(kBits), kUnitBytes = kUnit * kTileOutputs * kBits / 8;
  constexpr int64_t kUnits = std::max(kStepColumns / kUnit, int64_t{1});  // of an iteration of the loop
  const int32_t zero_point = w.zero_point - (kBytes == Bytes::Signed ? 128 : zero_point_shift(kBits));
  const int8_t* activations = rows.values + row * w.padded_columns();
  const float* scales = rows.scales + row * w.groups;
  const float* scaled_sums = rows.scaled_sums + row * w.groups;
  const int32_t* activation_sums = rows.sums + row * w.groups;
  VecFloat factors[kVectorsOfTile], minimum_factors[kVectorsOfTile], totals[kVectorsOfTile];
  for (int v = 0; v < kVectorsOfTile; ++v) {
    factors[v] = minimum_factors[v] = totals[v] = hn::Zero(df);
  }
  GroupsOfTile from(w, tile);
  for (int64_t g = 0; g < w.groups; ++g, from.leave(w)) {
    if (from.enter(w) && w.block_factors) {
      load_factors(w, from.factors, factors, minimum_factors);
    }
    Vec32 sums[kVectorsOfTile];
    for (int v = 0; v < kVectorsOfTile; ++v) {
      sums[v] = hn::Set(Tag32(), -zero_point * activation_sums[g]);
    }
    const uint8_t* unit = from.weights(w);
    int64_t left = w.group;
    for (; left >= kUnit * kUnits; left -= kUnit * kUnits) {
      add_columns<kBits, kBytes, kUnit * kUnits / 4>(unit, activations, Fours(), sums);
      unit += kUnitBytes * kUnits;
      activations += kUnit * kUnits;
    }
    for (; kUnits > 1 && left > 0; left -= kUnit) {
      add_columns<kBits, kBytes, kUnit / 4>(unit, activations, Fours(), sums);
      unit += kUnitBytes;
      activations += kUnit;
    }
    VecFloat parameters[kVectorsOfTile];
    load_parameters(w, from.at, factors, parameters);
    for (int v = 0; v < kVectorsOfTile; ++v) {
      const VecFloat scaled = hn::Mul(parameters[v], hn::Set(df, scales[g]));
      totals[v] = hn::MulAdd(hn::ConvertTo(df, sums[v]), scaled, totals[v]);
    }
    if (w.has_minima) {
      load_parameters(w, from.minima(w), minimum_factors, parameters);
      for (int v = 0; v < kVectorsOfTile; ++v) {
        totals[v] = hn::NegMulAdd(parameters[v], hn::Set(df, scaled_sums[g]), totals[v]);
      }
    }
  }
  store_row(w, tile, rows.offsets[row], totals, out + row * w.rows);
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
