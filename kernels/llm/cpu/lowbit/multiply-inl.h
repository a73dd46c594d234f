// SPDX-License-Identifier: BSD-3-Clause
// A lane of a vector is an output: each four bytes of activations are multiplied by those columns of the weights of 16
// outputs, so that nothing is summed across lanes and weights are read in sequence.
//
// For the instruction set of HWY_TARGET. Names are those of one source file.
#pragma once

#include <cstring>

#include "kernels/llm/cpu/lowbit/multiply.h"
#include "kernels/llm/cpu/lowbit/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Rows and vectors of outputs that share what is in registers: 8 sums.
constexpr int kBlockVectors = std::min(kVectorsOfTile, 2);
constexpr int kBlockRows = 8 / kBlockVectors;

// Vector `vector` of the numbers of a tile of a row that begins at `row`; 0 for those which the row has not.
HWY_INLINE VecFloat load_outputs(const PackedWeights& w, int64_t tile, int vector, const float* row) {
  const int64_t first = tile * kTileOutputs + vector * kLanes32, left = w.rows - first;
  if (left >= kLanes32) {
    return hn::LoadU(TagFloat(), row + first);
  }
  return left > 0 ? hn::LoadN(TagFloat(), row + first, static_cast<size_t>(left)) : hn::Zero(TagFloat());
}

HWY_INLINE void store_outputs(const PackedWeights& w, int64_t tile, int vector, VecFloat numbers, float* row) {
  const int64_t first = tile * kTileOutputs + vector * kLanes32, left = w.rows - first;
  if (left >= kLanes32) {
    hn::StoreU(numbers, TagFloat(), row + first);
  } else if (left > 0) {
    hn::StoreN(numbers, TagFloat(), row + first, static_cast<size_t>(left));
  }
}

// What the activations' zero points add is taken off.
HWY_INLINE VecFloat without_offset(const PackedWeights& w, int64_t tile, int vector, float offset, VecFloat total) {
  if (!w.row_activations) {
    return total;
  }
  const TagFloat df;
  const VecFloat sums = hn::BitCast(df, hn::LoadU(TagByte(), w.tile(tile) + vector * kLanes32 * 4));
  return hn::NegMulAdd(sums, hn::Set(df, offset), total);
}

HWY_INLINE VecInt8 four_columns(const int8_t* activations) {
  int32_t four;
  std::memcpy(&four, activations, 4);
  return hn::BitCast(TagInt8(), hn::Set(Tag32(), four));
}

// --- One row: weights go from memory through registers into the sums -------------------------------------------------

template <int kBits, int kColumns>
HWY_INLINE void add_columns(const uint8_t* unit, const int8_t* activations, Vec32 (&sums)[kVectorsOfTile]) {
  if constexpr (kColumns < unit_of(kBits) / 4) {
    const VecInt8 four = four_columns(activations + kColumns * 4);
    for (int v = 0; v < kVectorsOfTile; ++v) {
      const VecByte weights = operand_at<kBits>(weights_at<kBits, kColumns>(unit + v * kLanes32 * 4));
      sums[v] = dot4<(kBits < 8)>(weights, four, sums[v]);
    }
    add_columns<kBits, kColumns + 1>(unit, activations, sums);
  }
}

template <int kBits>
HWY_NOINLINE void multiply_row(const PackedWeights& w, const QuantizedRows& rows, int64_t row, int64_t tile,
                               float* out) {
  const TagFloat df;
  constexpr int64_t kUnit = unit_of(kBits), kUnitBytes = kUnit * kTileOutputs * kBits / 8;
  constexpr int kUnits = std::max(16 / static_cast<int>(kUnit), 1);  // of a step of the loop
  const int32_t zero_point = w.zero_point - zero_point_shift(kBits);
  const int8_t* activations = rows.values + row * w.padded_columns();
  VecFloat factors[kVectorsOfTile], minimum_factors[kVectorsOfTile], totals[kVectorsOfTile];
  for (int v = 0; v < kVectorsOfTile; ++v) {
    factors[v] = minimum_factors[v] = totals[v] = hn::Zero(df);
  }
  GroupsOfTile from(w, tile);
  for (int64_t g = 0; g < w.groups; ++g, from.leave(w)) {
    const int64_t at = row * w.groups + g;
    if (from.enter(w) && w.block_factors) {
      load_factors(w, from.factors, factors, minimum_factors);
    }
    Vec32 sums[kVectorsOfTile];
    for (int v = 0; v < kVectorsOfTile; ++v) {
      sums[v] = hn::Set(Tag32(), -zero_point * rows.sums[at]);
    }
    const uint8_t* unit = from.weights(w);
    int64_t left = w.group;
    for (; left >= kUnit * kUnits; left -= kUnit * kUnits) {
      for (int i = 0; i < kUnits; ++i) {
        add_columns<kBits, 0>(unit + i * kUnitBytes, activations + i * kUnit, sums);
      }
      unit += kUnitBytes * kUnits;
      activations += kUnit * kUnits;
    }
    for (; kUnits > 1 && left > 0; left -= kUnit) {
      add_columns<kBits, 0>(unit, activations, sums);
      unit += kUnitBytes;
      activations += kUnit;
    }
    VecFloat parameters[kVectorsOfTile];
    load_parameters(w, from.at, factors, parameters);
    for (int v = 0; v < kVectorsOfTile; ++v) {
      const VecFloat scaled = hn::Mul(parameters[v], hn::Set(df, rows.scales[at]));
      totals[v] = hn::MulAdd(hn::ConvertTo(df, sums[v]), scaled, totals[v]);
    }
    if (w.has_minima) {
      load_parameters(w, from.minima(w), minimum_factors, parameters);
      for (int v = 0; v < kVectorsOfTile; ++v) {
        totals[v] = hn::NegMulAdd(parameters[v], hn::Set(df, rows.scaled_sums[at]), totals[v]);
      }
    }
  }
  for (int v = 0; v < kVectorsOfTile; ++v) {
    store_outputs(w, tile, v, without_offset(w, tile, v, rows.offsets[row], totals[v]), out + row * w.rows);
  }
}

// --- Blocks of rows: weights are unpacked once for all of them -------------------------------------------------------

// Adds the products of a panel and a block of rows, of which `stored` exist and begin at `out`. kSmall: see dot4().
template <bool kSmall>
HWY_NOINLINE void multiply_block(const PackedWeights& w, const QuantizedRows& rows, const Panel& panel, int64_t tile,
                                 int64_t block, int64_t stored, int vector, float* out) {
  const TagFloat df;
  const int32_t zero_point = w.zero_point - zero_point_shift(w.bits);
  const int64_t lane = vector * kLanes32;
  const int8_t* activations = rows.values + (block * w.padded_columns() + panel.first * w.group) * kBlockRows;
  const uint8_t* weights = panel.weights + lane * 4;
  VecFloat totals[kBlockRows][kBlockVectors];
  for (int i = 0; i < kBlockRows; ++i) {
    for (int v = 0; v < kBlockVectors; ++v) {
      totals[i][v] = panel.first > 0 && i < stored ? load_outputs(w, tile, vector + v, out + i * w.rows) : hn::Zero(df);
    }
  }
  for (int64_t g = 0; g < panel.groups; ++g) {
    const int64_t at = (block * w.groups + panel.first + g) * kBlockRows;
    Vec32 sums[kBlockRows][kBlockVectors];
    for (int i = 0; i < kBlockRows; ++i) {
      const Vec32 start = hn::Set(Tag32(), -zero_point * rows.sums[at + i]);
      for (int v = 0; v < kBlockVectors; ++v) {
        sums[i][v] = start;
      }
    }
    const int8_t* end = activations + w.group * kBlockRows;
    do {  // a group has columns; GCC copies the sums in a loop that may have no turn
      VecByte operands[kBlockVectors];
      for (int v = 0; v < kBlockVectors; ++v) {
        operands[v] = hn::LoadU(TagByte(), weights + v * kLanes32 * 4);
      }
      for (int i = 0; i < kBlockRows; ++i) {
        const VecInt8 four = four_columns(activations + i * 4);
        for (int v = 0; v < kBlockVectors; ++v) {
          sums[i][v] = dot4<kSmall>(operands[v], four, sums[i][v]);
        }
      }
      weights += kBlock;
      activations += kBlockRows * 4;
    } while (activations != end);
    for (int v = 0; v < kBlockVectors; ++v) {
      const VecFloat scale = hn::LoadU(df, panel.scales + g * kTileOutputs + lane + v * kLanes32);
      for (int i = 0; i < kBlockRows; ++i) {
        const VecFloat scaled = hn::Mul(scale, hn::Set(df, rows.scales[at + i]));
        totals[i][v] = hn::MulAdd(hn::ConvertTo(df, sums[i][v]), scaled, totals[i][v]);
      }
    }
    for (int v = 0; v < kBlockVectors && w.has_minima; ++v) {
      const VecFloat minimum = hn::LoadU(df, panel.minima + g * kTileOutputs + lane + v * kLanes32);
      for (int i = 0; i < kBlockRows; ++i) {
        totals[i][v] = hn::NegMulAdd(minimum, hn::Set(df, rows.scaled_sums[at + i]), totals[i][v]);
      }
    }
  }
  const bool last = panel.first + panel.groups == w.groups;
  for (int i = 0; i < kBlockRows && i < stored; ++i) {
    const float offset = rows.offsets[block * kBlockRows + i];
    for (int v = 0; v < kBlockVectors; ++v) {
      const VecFloat total = last ? without_offset(w, tile, vector + v, offset, totals[i][v]) : totals[i][v];
      store_outputs(w, tile, vector + v, total, out + i * w.rows);
    }
  }
}

HWY_NOINLINE void multiply_blocks(const PackedWeights& w, const QuantizedRows& rows, int64_t tile, float* out) {
  const auto multiply = w.bits < 8 ? multiply_block<true> : multiply_block<false>;
  GroupsOfTile from(w, tile);
  Panel panel;
  panel.first = 0;
  do {  // without columns, once
    unpack_panel(w, zero_point_shift(w.bits) == 0 ? 0 : 0x80, from, panel);
    for (int64_t block = 0; block < rows.blocks(); ++block) {
      const int64_t first = block * kBlockRows;
      for (int v = 0; v < kVectorsOfTile; v += kBlockVectors) {
        multiply(w, rows, panel, tile, block, rows.rows - first, v, out + first * w.rows);
      }
    }
    panel.first += panel.groups;
  } while (panel.first < w.groups);
}

void multiply_int8(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  constexpr decltype(&multiply_row<1>) kMultiply[] = {multiply_row<1>, multiply_row<2>, multiply_row<3>,
                                                      multiply_row<4>, multiply_row<5>, multiply_row<6>,
                                                      multiply_row<7>, multiply_row<8>};
  for (int64_t tile = begin; tile < end; ++tile) {
    if (rows.interleave > 1) {
      multiply_blocks(w, rows, tile, out);
      continue;
    }
    for (int64_t row = 0; row < rows.rows; ++row) {
      kMultiply[w.bits - 1](w, rows, row, tile, out);
    }
  }
}

// --- Rows of floats --------------------------------------------------------------------------------------------------

// Rows of activations that share the weights in registers.
constexpr int kFloatRows = 4;

// Where a row's columns of a group begin, for each row.
struct FloatRows {
  const float* x[kFloatRows];
};

// Adds the first `count` of the four columns from k on; a vector has a byte of each.
template <int kRows, bool kHasMinima>
HWY_INLINE void add_float_columns(const FloatRows& rows, VecFloat scale, VecFloat offset, const uint8_t* weights,
                                  int64_t k, int64_t count, VecFloat (&totals)[kRows]) {
  const TagFloat df;
  const hn::Rebind<uint32_t, Tag32> du;
  auto bytes = hn::BitCast(du, hn::LoadU(TagByte(), weights));
  for (int64_t i = 0; i < count; ++i) {
    const VecFloat number = hn::ConvertTo(df, hn::BitCast(Tag32(), hn::And(bytes, hn::Set(du, 0xFFu))));
    bytes = hn::ShiftRight<8>(bytes);
    const VecFloat weight =
        kHasMinima ? hn::Sub(hn::Mul(number, scale), offset) : hn::Mul(hn::Sub(number, offset), scale);
    for (int row = 0; row < kRows; ++row) {
      totals[row] = hn::MulAdd(weight, hn::Set(df, rows.x[row][k + i]), totals[row]);
    }
  }
}

// `offset`: the minimum of the group, or the zero point.
template <int kRows, bool kHasMinima>
HWY_INLINE void add_float_group(const FloatRows& rows, VecFloat scale, VecFloat offset, const uint8_t* weights,
                                int64_t columns, VecFloat (&totals)[kRows]) {
  int64_t k = 0;
  for (; k + 4 <= columns; k += 4) {
    add_float_columns<kRows, kHasMinima>(rows, scale, offset, weights + k * kTileOutputs, k, 4, totals);
  }
  if (k < columns) {
    add_float_columns<kRows, kHasMinima>(rows, scale, offset, weights + k * kTileOutputs, k, columns - k, totals);
  }
}

// Adds the products of a panel and kRows rows, of which the outputs begin at `out`.
template <int kRows>
HWY_NOINLINE void multiply_float_block(const PackedWeights& w, const Panel& panel, const float* x, int64_t tile,
                                       int vector, float* out) {
  const TagFloat df;
  VecFloat totals[kRows];
  for (int i = 0; i < kRows; ++i) {
    totals[i] = panel.first > 0 ? load_outputs(w, tile, vector, out + i * w.rows) : hn::Zero(df);
  }
  FloatRows rows;
  for (int64_t g = 0; g < panel.groups; ++g) {
    const int64_t first = (panel.first + g) * w.group, columns = std::min(w.group, w.columns - first);
    for (int i = 0; i < kRows; ++i) {
      rows.x[i] = x + i * w.columns + first;
    }
    const uint8_t* weights = panel.weights + g * w.group * kTileOutputs + vector * kLanes32 * 4;
    const VecFloat scale = hn::LoadU(df, panel.scales + g * kTileOutputs + vector * kLanes32);
    if (w.has_minima) {
      const VecFloat minimum = hn::LoadU(df, panel.minima + g * kTileOutputs + vector * kLanes32);
      add_float_group<kRows, true>(rows, scale, minimum, weights, columns, totals);
    } else {
      const VecFloat zero_point = hn::Set(df, static_cast<float>(w.zero_point));
      add_float_group<kRows, false>(rows, scale, zero_point, weights, columns, totals);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    store_outputs(w, tile, vector, totals[i], out + i * w.rows);
  }
}

void multiply_float(const PackedWeights& w, const float* x, int64_t rows, int64_t begin, int64_t end, float* out) {
  for (int64_t tile = begin; tile < end; ++tile) {
    GroupsOfTile from(w, tile);
    Panel panel;
    panel.first = 0;
    do {
      unpack_panel(w, 0, from, panel);
      for (int64_t row = 0; row < rows;) {
        const bool block = row + kFloatRows <= rows;
        for (int v = 0; v < kVectorsOfTile; ++v) {
          const auto multiply = block ? multiply_float_block<kFloatRows> : multiply_float_block<1>;
          multiply(w, panel, x + row * w.columns, tile, v, out + row * w.rows);
        }
        row += block ? kFloatRows : 1;
      }
      panel.first += panel.groups;
    } while (panel.first < w.groups);
  }
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
