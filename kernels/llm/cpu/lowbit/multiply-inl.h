// SPDX-License-Identifier: BSD-3-Clause
// A lane of a vector is an output: each four bytes of activations are multiplied by those columns of the weights of 16
// outputs, so that nothing is summed across lanes and weights are read in sequence. Where there are products of
// matrices of bytes, a vector of sums has two outputs of two rows.
//
// For the instruction set of HWY_TARGET. Names are those of one source file.
#pragma once

#include "kernels/llm/cpu/lowbit/dots-inl.h"
#include "kernels/llm/cpu/lowbit/multiply.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Rows and vectors of outputs that share what is in registers.
constexpr int kBlockSums = 8;
constexpr int kBlockVectors = std::min(kVectorsOfTile, 2);
constexpr int kBlockRows = kBlockSums / kBlockVectors;

// With Arm's dot products, the operands of several steps fit the registers, and so do a block's arrays of vectors if
// each loop over them is unrolled. Products of several instructions would spill.
#if ET_LLM_DOTPROD
#define ET_LLM_UNROLL _Pragma("GCC unroll 16")
constexpr int kBlockSteps = 4;
#else
#define ET_LLM_UNROLL
constexpr int kBlockSteps = 1;
#endif

// Multiplication::runs for one of Highway's targets.
template <int64_t kTarget>
bool runs_on() {
  return (hwy::SupportedTargets() & kTarget) != 0;
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

// --- One row: weights go from memory through registers into the sums -------------------------------------------------

// Adds the products of 4 kCount columns, which are whole units, from number 4 kFour on. `fours` has those from the
// previous multiple of 16 on.
template <int kBits, int kCount, int kFour = 0>
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
      const VecByte weights = weights_at<kBits, kFour % (kUnit / 4)>(unit + v * kLanes32 * 4);
      sums[v] = add_dots_of_row<kBits, kFour % 4>(weights, fours, sums[v]);
    }
    add_columns<kBits, kCount, kFour + 1>(units, activations, fours, sums);
  }
}

// Not a loop: GCC would keep the totals in memory for it.
template <int kVector = 0>
HWY_INLINE void store_row(const PackedWeights& w, int64_t tile, float offset, const VecFloat (&totals)[kVectorsOfTile],
                          float* out) {
  if constexpr (kVector < kVectorsOfTile) {
    store_outputs(w, tile, kVector, without_offset(w, tile, kVector, offset, totals[kVector]), out);
    store_row<kVector + 1>(w, tile, offset, totals, out);
  }
}

// The columns of a step of the loop. With Arm's dot products, whose operands fit the registers, a group of 32 has no
// loop.
constexpr int64_t kStepColumns = ET_LLM_DOTPROD ? 32 : 16;

template <int kBits>
HWY_NOINLINE void multiply_row(const PackedWeights& w, const QuantizedRows& rows, int64_t row, int64_t tile,
                               float* out) {
  const TagFloat df;
  constexpr int64_t kUnit = unit_of(kBits), kUnitBytes = kUnit * kTileOutputs * kBits / 8;
  constexpr int64_t kUnits = std::max(kStepColumns / kUnit, int64_t{1});  // of a step of the loop
  const int32_t zero_point = w.zero_point - zero_point_shift_of_row(kBits);
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
      add_columns<kBits, kUnit * kUnits / 4>(unit, activations, Fours(), sums);
      unit += kUnitBytes * kUnits;
      activations += kUnit * kUnits;
    }
    for (; kUnits > 1 && left > 0; left -= kUnit) {
      add_columns<kBits, kUnit / 4>(unit, activations, Fours(), sums);
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

/// The groups of ggml's most common types: 32 columns, with scales and minima that are
enum class CommonGroup {
  Halves,           ///< float16, without minima: Q4_0 and Q8_0
  HalvesAndMinima,  ///< float16: Q4_1
  Products,         ///< factors of a block times bytes: Q4_K
};
constexpr int64_t kCommonColumns = 32;

/// multiply_row(), where what that asks in each group is known to the compiler.
template <int kBits, CommonGroup kGroup>
HWY_NOINLINE void multiply_row_of_common_groups(const PackedWeights& w, const QuantizedRows& rows, int64_t row,
                                                int64_t tile, float* out) {
  const TagFloat df;
  constexpr bool kHasMinima = kGroup != CommonGroup::Halves, kIsProduct = kGroup == CommonGroup::Products;
  constexpr int64_t kScaleBytes = kTileOutputs * (kIsProduct ? 1 : 2);
  constexpr int64_t kWeightsAt = kScaleBytes * (kHasMinima ? 2 : 1);
  const int32_t zero_point = w.zero_point - zero_point_shift_of_row(kBits);
  const int8_t* activations = rows.values + row * w.padded_columns();
  const float* scales = rows.scales + row * w.groups;
  const float* scaled_sums = rows.scaled_sums + row * w.groups;
  const int32_t* activation_sums = rows.sums + row * w.groups;
  VecFloat factors[kVectorsOfTile], minimum_factors[kVectorsOfTile], parameters[kVectorsOfTile], totals[kVectorsOfTile];
  for (int v = 0; v < kVectorsOfTile; ++v) {
    factors[v] = minimum_factors[v] = totals[v] = hn::Zero(df);
  }
  const uint8_t* at = w.blocks_of(tile);
  int64_t left_in_block = 0;
  for (int64_t g = 0; g < w.groups; ++g) {
    if (kIsProduct && left_in_block-- == 0) {
      load_halves(at, factors);
      load_halves(at + kTileOutputs * 2, minimum_factors);
      at += kTileOutputs * 4;
      left_in_block = w.block_groups - 1;
    }
    Vec32 sums[kVectorsOfTile];
    for (int v = 0; v < kVectorsOfTile; ++v) {
      sums[v] = kHasMinima ? hn::Zero(Tag32()) : hn::Set(Tag32(), -zero_point * activation_sums[g]);
    }
    add_columns<kBits, kCommonColumns / 4>(at + kWeightsAt, activations + g * kCommonColumns, Fours(), sums);
    kIsProduct ? load_products(at, factors, parameters) : load_halves(at, parameters);
    for (int v = 0; v < kVectorsOfTile; ++v) {
      const VecFloat scaled = hn::Mul(parameters[v], hn::Set(df, scales[g]));
      totals[v] = hn::MulAdd(hn::ConvertTo(df, sums[v]), scaled, totals[v]);
    }
    if constexpr (kHasMinima) {
      const uint8_t* minima = at + kScaleBytes;
      kIsProduct ? load_products(minima, minimum_factors, parameters) : load_halves(minima, parameters);
      for (int v = 0; v < kVectorsOfTile; ++v) {
        totals[v] = hn::NegMulAdd(parameters[v], hn::Set(df, scaled_sums[g]), totals[v]);
      }
    }
    at += kWeightsAt + kCommonColumns * kTileOutputs * kBits / 8;
  }
  store_row(w, tile, rows.offsets[row], totals, out + row * w.rows);
}

/// The function that multiplies a row by these weights.
template <int kBits>
decltype(&multiply_row<kBits>) multiply_row_by(const PackedWeights& w) {
  if constexpr (ET_LLM_DOTPROD && (kBits == 4 || kBits == 8)) {
    const bool is_common = w.group == kCommonColumns && !w.wide_scales;
    // With minima, sums start at zero.
    const bool has_common_minima = w.has_minima && w.zero_point == zero_point_shift_of_row(kBits);
    if (is_common && !w.block_factors && !w.has_minima) {
      return multiply_row_of_common_groups<kBits, CommonGroup::Halves>;
    }
    if constexpr (kBits == 4) {
      if (is_common && has_common_minima) {
        return w.block_factors ? multiply_row_of_common_groups<kBits, CommonGroup::Products>
                               : multiply_row_of_common_groups<kBits, CommonGroup::HalvesAndMinima>;
      }
    }
  }
  return multiply_row<kBits>;
}

// --- Blocks of rows: weights are unpacked once for all of them -------------------------------------------------------

// How the sums of a block lie in vectors: each has outputs of one row. kSmall: see add_dots().
template <bool kSmall>
struct OfOneRow {
  static constexpr int kRowParts = kBlockRows, kOutputParts = kBlockVectors, kColumns = 4;
  // Where the sums of a part of the rows and a part of the outputs are.
  static constexpr int place(int rows, int outputs) { return outputs * kRowParts + rows; }

  // Reorders a panel for add().
  static void prepare(uint8_t*, int64_t) {}

  // Adds the products of the next kColumns columns.
  static HWY_INLINE void add(const uint8_t* weights, const int8_t* activations, Vec32 (&sums)[kBlockSums]) {
    VecByte operands[kBlockVectors];
    for (int v = 0; v < kBlockVectors; ++v) {
      operands[v] = hn::LoadU(TagByte(), weights + v * kLanes32 * 4);
    }
    add_row<0>(operands, activations, Fours(), sums);
  }

  template <int kRow>
  static HWY_INLINE void add_row(const VecByte (&operands)[kBlockVectors], const int8_t* activations, Fours fours,
                                 Vec32 (&sums)[kBlockSums]) {
    if constexpr (kRow < kBlockRows) {
      if constexpr (kRow % 4 == 0) {
        fours = fours_at<kBlockRows - kRow>(activations + kRow * 4);
      }
      for (int v = 0; v < kBlockVectors; ++v) {
        Vec32& sum = sums[place(kRow, v)];
        sum = add_dots<kSmall, kRow % 4>(operands[v], fours, sum);
      }
      add_row<kRow + 1>(operands, activations, fours, sums);
    }
  }

  // Numbers of rows, or of outputs, as they belong to a part of the sums.
  static HWY_INLINE VecFloat of_rows(const float* from, int part) { return hn::Set(TagFloat(), from[part]); }
  static HWY_INLINE Vec32 of_rows(const int32_t* from, int32_t factor, int part) {
    return hn::Set(Tag32(), from[part] * factor);
  }
  static HWY_INLINE VecFloat of_outputs(const float* from, int part) {
    return hn::LoadU(TagFloat(), from + part * kLanes32);
  }

  // Exchanges this layout and that of OfOneRow.
  static HWY_INLINE void arrange(VecFloat (&)[kBlockSums]) {}
};

#if ET_LLM_I8MM
// Each vector has two outputs of two rows.
struct OfTwoRows {
  static constexpr int kRowParts = kBlockRows / 2, kOutputParts = kBlockVectors * 2, kColumns = 8;
  static_assert(kBlockRows == 4 && kBlockVectors == 2, "of NEON");
  static constexpr int place(int rows, int outputs) { return outputs / 2 * 4 + rows * 2 + outputs % 2; }
  using Tag64 = hn::Repartition<int64_t, Tag32>;

  // Eight columns of an output come together.
  static void prepare(uint8_t* weights, int64_t columns) {
    const Tag32 d;
    for (int64_t k = 0; k < columns; k += kColumns, weights += kColumns * kTileOutputs) {
      Vec32 first[kVectorsOfTile], second[kVectorsOfTile];
      int32_t* at = reinterpret_cast<int32_t*>(weights);
      for (int v = 0; v < kVectorsOfTile; ++v) {
        first[v] = hn::LoadU(d, at + v * kLanes32);
        second[v] = hn::LoadU(d, at + kTileOutputs + v * kLanes32);
      }
      for (int v = 0; v < kVectorsOfTile; ++v) {
        hn::StoreU(hn::InterleaveLower(d, first[v], second[v]), d, at + v * 2 * kLanes32);
        hn::StoreU(hn::InterleaveUpper(d, first[v], second[v]), d, at + (v * 2 + 1) * kLanes32);
      }
    }
  }

  static HWY_INLINE void add(const uint8_t* weights, const int8_t* activations, Vec32 (&sums)[kBlockSums]) {
    const Tag32 d;
    const Vec32 first = hn::BitCast(d, hn::LoadU(TagInt8(), activations));
    const Vec32 second = hn::BitCast(d, hn::LoadU(TagInt8(), activations + kBlockRows * 4));
    const Vec32 rows[] = {hn::InterleaveLower(d, first, second), hn::InterleaveUpper(d, first, second)};
    for (int v = 0; v < kOutputParts; ++v) {
      const VecByte operand = hn::LoadU(TagByte(), weights + v * 16);
      for (int i = 0; i < kRowParts; ++i) {
        Vec32& sum = sums[place(i, v)];
        sum = add_products(hn::BitCast(TagInt8(), rows[i]), operand, sum);
      }
    }
  }

  static HWY_INLINE VecFloat of_rows(const float* from, int part) {
    const VecFloat four = hn::LoadU(TagFloat(), from);
    return part == 0 ? hn::InterleaveLower(TagFloat(), four, four) : hn::InterleaveUpper(TagFloat(), four, four);
  }
  static HWY_INLINE Vec32 of_rows(const int32_t* from, int32_t factor, int part) {
    const Vec32 four = hn::Mul(hn::LoadU(Tag32(), from), hn::Set(Tag32(), factor));
    return part == 0 ? hn::InterleaveLower(Tag32(), four, four) : hn::InterleaveUpper(Tag32(), four, four);
  }
  static HWY_INLINE VecFloat of_outputs(const float* from, int part) {
    int64_t two;
    std::memcpy(&two, from + part * 2, sizeof(two));
    return hn::BitCast(TagFloat(), hn::Set(Tag64(), two));
  }

  static HWY_INLINE void arrange(VecFloat (&numbers)[kBlockSums]) {
    const TagFloat d;
    for (int i = 0; i < kBlockSums; i += 2) {
      const VecFloat even = numbers[i], odd = numbers[i + 1];
      numbers[i] = hn::ConcatLowerLower(d, odd, even);
      numbers[i + 1] = hn::ConcatUpperUpper(d, odd, even);
    }
  }
};
#endif

// Adds the products of the next kSteps * Layout::kColumns columns.
template <class Layout, int kSteps>
HWY_INLINE void add_steps(const uint8_t*& weights, const int8_t*& activations, Vec32 (&sums)[kBlockSums]) {
  ET_LLM_UNROLL
  for (int i = 0; i < kSteps; ++i) {
    Layout::add(weights + i * Layout::kColumns * kTileOutputs, activations + i * Layout::kColumns * kBlockRows, sums);
  }
  weights += kSteps * Layout::kColumns * kTileOutputs;
  activations += kSteps * Layout::kColumns * kBlockRows;
}

// Adds the products of a group. It has columns: GCC copies the sums in a loop that may have no turn.
template <class Layout>
HWY_INLINE void add_group(int64_t columns, const uint8_t*& weights, const int8_t*& activations,
                          Vec32 (&sums)[kBlockSums]) {
  const int8_t* const end = activations + columns * kBlockRows;
  if (columns % (kBlockSteps * Layout::kColumns) == 0) {
    do {
      add_steps<Layout, kBlockSteps>(weights, activations, sums);
    } while (activations != end);
    return;
  }
  do {
    add_steps<Layout, 1>(weights, activations, sums);
  } while (activations != end);
}

// Adds the products of a panel and a block of rows, of which `stored` exist and begin at `out`.
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
  ET_LLM_UNROLL
  for (int i = 0; i < kBlockRows; ++i) {
    if (i >= stored) {
      break;
    }
    const float offset = rows.offsets[block * kBlockRows + i];
    ET_LLM_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      VecFloat total = totals[OfOneRow<false>::place(i, v)];
      total = last ? without_offset(w, tile, vector + v, offset, total) : total;
      store_outputs(w, tile, vector + v, total, out + i * w.rows);
    }
  }
}

template <class Layout>
HWY_NOINLINE void multiply_blocks(const PackedWeights& w, const QuantizedRows& rows, int64_t tile, float* out) {
  const auto multiply = w.has_minima ? multiply_block<Layout, true> : multiply_block<Layout, false>;
  GroupsOfTile from(w, tile);
  Panel panel;
  panel.first = 0;
  do {  // without columns, once
    unpack_panel(w, zero_point_shift(w.bits) == 0 ? 0 : 0x80, from, panel);
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

void multiply_int8(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  constexpr decltype(&multiply_row_by<1>) kMultiply[] = {multiply_row_by<1>, multiply_row_by<2>, multiply_row_by<3>,
                                                         multiply_row_by<4>, multiply_row_by<5>, multiply_row_by<6>,
                                                         multiply_row_by<7>, multiply_row_by<8>};
  const auto multiply = kMultiply[w.bits - 1](w);
  auto blocks = w.bits < 8 ? multiply_blocks<OfOneRow<true>> : multiply_blocks<OfOneRow<false>>;
#if ET_LLM_I8MM
  if (w.group % OfTwoRows::kColumns == 0) {
    blocks = multiply_blocks<OfTwoRows>;
  }
#endif
  for (int64_t tile = begin; tile < end; ++tile) {
    if (rows.interleave > 1) {
      blocks(w, rows, tile, out);
      continue;
    }
    for (int64_t row = 0; row < rows.rows; ++row) {
      multiply(w, rows, row, tile, out);
    }
  }
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
