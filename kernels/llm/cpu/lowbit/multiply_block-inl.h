// SPDX-License-Identifier: BSD-3-Clause
// GEMM of blocks of rows: weights are unpacked once for all rows.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/layouts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Adds the dot products over the next kSteps * Layout::kColumns columns.
template <class Layout, int kSteps>
HWY_INLINE void add_steps(const uint8_t*& weights, const int8_t*& activations, Vec32 (&sums)[kBlockSums]) {
  ET_LLM_UNROLL
  for (int i = 0; i < kSteps; ++i) {
    Layout::add(weights + i * Layout::kColumns * kTileOutputs, activations + i * Layout::kColumns * kBlockRows, sums);
  }
  weights += kSteps * Layout::kColumns * kTileOutputs;
  activations += kSteps * Layout::kColumns * kBlockRows;
}

// Adds the dot products over a group of at least one column: in a loop that may have no iteration, GCC copies the sums.
template <class Layout>
HWY_INLINE void add_group(int64_t columns, const uint8_t*& weights, const int8_t*& activations,
                          Vec32 (&sums)[kBlockSums]) {
  const int8_t* const end = activations + columns * kBlockRows;
  if constexpr (kBlockSteps > 1) {
    if (columns % (kBlockSteps * Layout::kColumns) == 0) {
      do {
        add_steps<Layout, kBlockSteps>(weights, activations, sums);
      } while (activations != end);
      return;
    }
  }
  do {
    add_steps<Layout, 1>(weights, activations, sums);
  } while (activations != end);
}

// Writes the totals of the first `stored` rows of a block, whose outputs begin at `out`. `offsets`: the rows' offsets;
// nullptr if other panels follow.
HWY_INLINE void store_block(const PackedWeights& w, int64_t tile, int64_t stored, int vector, const float* offsets,
                            const VecFloat (&totals)[kBlockSums], float* out) {
  ET_LLM_UNROLL
  for (int i = 0; i < kBlockRows; ++i) {
    if (i >= stored) {
      break;
    }
    ET_LLM_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      VecFloat total = totals[OfOneRow<false>::place(i, v)];
      total = offsets != nullptr ? without_offset(w, tile, vector + v, offsets[i], total) : total;
      store_outputs(w, tile, vector + v, total, out + i * w.rows);
    }
  }
}

// Multiplies a block of rows by a panel, and adds the results to the outputs of the `stored` existing rows at `out`.
template <class Layout, bool kHasMinima>
HWY_NOINLINE void multiply_block(const PackedWeights& w, const QuantizedRows& rows, const Panel& panel, int64_t tile,
                                 int64_t block, int64_t stored, int vector, float* out) {
  const TagFloat df;
  const int32_t zero_point = w.zero_point - zero_point_shift(w.bits);
  const int64_t lane = vector * kLanes32;
  const int8_t* activations = rows.values + (block * w.padded_columns() + panel.first * w.group) * kBlockRows;
  const uint8_t* weights = panel.weights + lane * Layout::kColumns;
  VecFloat totals[kBlockSums];
  ET_LLM_UNROLL
  for (int i = 0; i < kBlockRows; ++i) {
    ET_LLM_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      totals[OfOneRow<false>::place(i, v)] =
          panel.first > 0 && i < stored ? load_outputs(w, tile, vector + v, out + i * w.rows) : hn::Zero(df);
    }
  }
  Layout::arrange(totals);
  for (int64_t g = 0; g < panel.groups; ++g) {
    const int64_t at = (block * w.groups + panel.first + g) * kBlockRows;
    Vec32 sums[kBlockSums];
    ET_LLM_UNROLL
    for (int i = 0; i < Layout::kRowParts; ++i) {
      const Vec32 start = Layout::of_rows(rows.sums + at, -zero_point, i);
      ET_LLM_UNROLL
      for (int v = 0; v < Layout::kOutputParts; ++v) {
        sums[Layout::place(i, v)] = start;
      }
    }
    add_group<Layout>(w.group, weights, activations, sums);
    const float* scales = panel.scales + g * kTileOutputs + lane;
    ET_LLM_UNROLL
    for (int v = 0; v < Layout::kOutputParts; ++v) {
      const VecFloat scale = Layout::of_outputs(scales, v);
      ET_LLM_UNROLL
      for (int i = 0; i < Layout::kRowParts; ++i) {
        const VecFloat scaled = hn::Mul(scale, Layout::of_rows(rows.scales + at, i));
        VecFloat& total = totals[Layout::place(i, v)];
        total = hn::MulAdd(hn::ConvertTo(df, sums[Layout::place(i, v)]), scaled, total);
      }
    }
    const float* minima = panel.minima + g * kTileOutputs + lane;
    if constexpr (kHasMinima) {
      ET_LLM_UNROLL
      for (int v = 0; v < Layout::kOutputParts; ++v) {
        const VecFloat minimum = Layout::of_outputs(minima, v);
        ET_LLM_UNROLL
        for (int i = 0; i < Layout::kRowParts; ++i) {
          VecFloat& total = totals[Layout::place(i, v)];
          total = hn::NegMulAdd(minimum, Layout::of_rows(rows.scaled_sums + at, i), total);
        }
      }
    }
  }
  Layout::arrange(totals);
  const bool last = panel.first + panel.groups == w.groups;
  store_block(w, tile, stored, vector, last ? rows.offsets + block * kBlockRows : nullptr, totals, out);
}

template <class Layout>
HWY_NOINLINE void multiply_blocks(const PackedWeights& w, const QuantizedRows& rows, int64_t tile, float* out) {
  const auto multiply = w.has_minima ? multiply_block<Layout, true> : multiply_block<Layout, false>;
  GroupsOfTile from(w, tile);
  Panel panel;
  panel.first = 0;
  do {  // runs once if there are no columns
    unpack_panel(w, flipped_bits(w), from, panel);
    Layout::prepare(panel.weights, panel.groups * w.group);
    for (int64_t block = 0; block < rows.blocks(); ++block) {
      const int64_t first = block * kBlockRows;
      for (int v = 0; v < kVectorsOfTile; v += kBlockVectors) {
        multiply(w, rows, panel, tile, block, rows.rows - first, v, out + first * w.rows);
      }
    }
    panel.first += panel.groups;
  } while (panel.first < w.groups);
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
