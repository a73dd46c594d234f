// SPDX-License-Identifier: BSD-3-Clause
// GEMM of float activations: weights are dequantised to floats.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/multiply.h"
#include "kernels/llm/cpu/lowbit/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Rows of activations that share the weights in registers.
constexpr int kFloatRows = 4;

// The address of a group's columns in each row.
struct FloatRows {
  const float* x[kFloatRows];
};

// Adds the products of the first `count` of the four columns from k on; each lane of the weights has a byte of each.
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

// Multiplies kRows rows by a panel, and adds the results to the outputs, which begin at `out`.
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
      unpack_panel(w, w.signed_bytes ? 0x80 : 0, from, panel);
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
