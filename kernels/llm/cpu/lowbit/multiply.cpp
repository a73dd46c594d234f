// SPDX-License-Identifier: BSD-3-Clause
// A lane of a vector is an output: each four bytes of activations are multiplied by those columns of the weights of 16
// outputs, so that nothing is summed across lanes and weights are read in sequence.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/llm/cpu/lowbit/multiply.cpp"
#include "kernels/llm/cpu/lowbit/multiply.h"

#include <algorithm>
#include <cstring>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "kernels/llm/cpu/lowbit/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

// Rows that share the weights which are in registers. AVX-512 has registers for twice as many sums.
constexpr int kBlockRows = HWY_ARCH_X86 && kLanes32 == 16 ? 8 : 4;

int64_t block_rows() {
  return kBlockRows;
}

// The operands of a unit: its weights, from the first vector on, and the activations of its columns.
struct UnitAt {
  const uint8_t* weights;
  const int8_t* activations;
};

template <int kBits, int kRows, int kVectors, int kColumns>
HWY_INLINE void add_columns(const UnitAt& unit, Vec32 (&sums)[kRows][kVectors]) {
  if constexpr (kColumns < unit_of(kBits) / 4) {
    const hn::Repartition<int8_t, Tag32> di8;
    VecByte weights[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weights[v] = weights_at<kBits, kColumns>(unit.weights + v * kLanes32 * 4);
    }
    for (int i = 0; i < kRows; ++i) {
      int32_t four;
      std::memcpy(&four, unit.activations + (kColumns * kRows + i) * 4, 4);
      const auto activations = hn::BitCast(di8, hn::Set(Tag32(), four));
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = dot4<kBits>(weights[v], activations, sums[i][v]);
      }
    }
    add_columns<kBits, kRows, kVectors, kColumns + 1>(unit, sums);
  }
}

// Vectors [first, first + kVectors) of a tile for a block of kRows rows, of which `stored` exist. kFactors: as
// PackedWeights::block_factors; without them the loop is shorter.
template <int kBits, int kRows, int kVectors, bool kFactors>
HWY_INLINE void multiply_part(const PackedWeights& w, const QuantizedRows& rows, int64_t block, int64_t tile, int first,
                              int64_t stored, float* out) {
  const Tag32 d;
  const TagFloat df;
  constexpr int64_t kUnit = unit_of(kBits);
  const int32_t zero_point = w.zero_point - zero_point_shift(kBits);
  const int64_t first_group = block * w.groups * kRows;
  const int8_t* activations = rows.values + block * w.padded_columns() * kRows;
  const uint8_t* group = w.blocks_of(tile);
  int64_t left_in_block = 0;
  VecFloat factors[kVectors], minimum_factors[kVectors];
  VecFloat totals[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    factors[v] = minimum_factors[v] = hn::Zero(df);
    for (int i = 0; i < kRows; ++i) {
      totals[i][v] = hn::Zero(df);
    }
  }
  for (int64_t g = 0; g < w.groups; ++g, --left_in_block, group += w.group_bytes) {
    const int64_t at = first_group + g * kRows;
    if (kFactors && left_in_block == 0) {
      for (int v = 0; v < kVectors; ++v) {
        factors[v] = halves_at(group, first + v);
        if (w.has_minima) {
          minimum_factors[v] = halves_at(group + kTileOutputs * 2, first + v);
        }
      }
      group += w.factor_bytes;
      left_in_block = w.block_groups;
    }
    Vec32 sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      const Vec32 start = hn::Set(d, -zero_point * rows.sums[at + i]);
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = start;
      }
    }
    UnitAt unit{group + w.scale_bytes * (w.has_minima ? 2 : 1) + first * kLanes32 * 4, activations};
    for (int64_t k = 0; k < w.group; k += kUnit) {
      add_columns<kBits, kRows, kVectors, 0>(unit, sums);
      unit.weights += kUnit * kTileOutputs * kBits / 8;
      unit.activations += kUnit * kRows;
    }
    activations = unit.activations;
    for (int v = 0; v < kVectors; ++v) {
      const VecFloat scale = parameters_at<kFactors>(w, group, first + v, factors[v]);
      for (int i = 0; i < kRows; ++i) {
        const VecFloat scaled = hn::Mul(scale, hn::Set(df, rows.scales[at + i]));
        totals[i][v] = hn::MulAdd(hn::ConvertTo(df, sums[i][v]), scaled, totals[i][v]);
      }
      if (w.has_minima) {
        const VecFloat minimum = parameters_at<kFactors>(w, group + w.scale_bytes, first + v, minimum_factors[v]);
        for (int i = 0; i < kRows; ++i) {
          totals[i][v] = hn::NegMulAdd(minimum, hn::Set(df, rows.scaled_sums[at + i]), totals[i][v]);
        }
      }
    }
  }
  for (int i = 0; i < kRows && i < stored; ++i) {
    float* to = out + i * w.rows + tile * kTileOutputs;
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lane = (first + v) * kLanes32;
      VecFloat total = totals[i][v];
      if (w.row_activations) {
        const VecFloat sum = hn::BitCast(df, hn::LoadU(TagByte(), w.tile(tile) + lane * 4));
        total = hn::NegMulAdd(sum, hn::Set(df, rows.offsets[block * kRows + i]), total);
      }
      const int64_t left = w.rows - tile * kTileOutputs - lane;
      if (left >= kLanes32) {
        hn::StoreU(total, df, to + lane);
      } else if (left > 0) {
        hn::StoreN(total, df, to + lane, static_cast<size_t>(left));
      }
    }
  }
}

template <int kBits, bool kFactors>
void multiply_blocks(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  for (int64_t tile = begin; tile < end; ++tile) {
    for (int64_t block = 0; block < rows.blocks(); ++block) {
      const int64_t first = block * rows.interleave;
      float* to = out + first * w.rows;
      if (rows.interleave == 1) {
        multiply_part<kBits, 1, kVectorsOfTile, kFactors>(w, rows, block, tile, 0, 1, to);
        continue;
      }
      for (int v = 0; v < kVectorsOfTile; ++v) {
        multiply_part<kBits, kBlockRows, 1, kFactors>(w, rows, block, tile, v, rows.rows - first, to);
      }
    }
  }
}

template <int kBits>
void multiply_bits(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  w.block_factors ? multiply_blocks<kBits, true>(w, rows, begin, end, out)
                  : multiply_blocks<kBits, false>(w, rows, begin, end, out);
}

// Calls F<bits>(args...).
#define ET_LLM_FOR_BITS(bits, function, ...) \
  switch (bits) {                            \
    case 1:                                  \
      return function<1>(__VA_ARGS__);       \
    case 2:                                  \
      return function<2>(__VA_ARGS__);       \
    case 3:                                  \
      return function<3>(__VA_ARGS__);       \
    case 4:                                  \
      return function<4>(__VA_ARGS__);       \
    case 5:                                  \
      return function<5>(__VA_ARGS__);       \
    case 6:                                  \
      return function<6>(__VA_ARGS__);       \
    case 7:                                  \
      return function<7>(__VA_ARGS__);       \
    default:                                 \
      return function<8>(__VA_ARGS__);       \
  }

void multiply_int8(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  ET_LLM_FOR_BITS(w.bits, multiply_bits, w, rows, begin, end, out)
}

// Floats: rows of activations that share the weights in registers.
constexpr int kFloatRows = 4;

// Where the rows of activations of a group begin. Vectors are arguments: a structure of them would have a constructor
// that is compiled for the baseline.
struct FloatRows {
  const float* x[kFloatRows];
};

template <int kByte, bool kHasMinima>
HWY_INLINE void add_float_column(const FloatRows& rows, VecFloat scale, VecFloat offset,
                                 hn::Vec<hn::Rebind<uint32_t, Tag32>> weights, int64_t k,
                                 VecFloat (&totals)[kFloatRows]) {
  const TagFloat df;
  const hn::Rebind<uint32_t, Tag32> du;
  const auto byte = hn::And(hn::ShiftRight<8 * kByte>(weights), hn::Set(du, 0xFFu));
  const VecFloat number = hn::ConvertTo(df, hn::BitCast(Tag32(), byte));
  const VecFloat weight =
      kHasMinima ? hn::Sub(hn::Mul(number, scale), offset) : hn::Mul(hn::Sub(number, offset), scale);
  for (int i = 0; i < kFloatRows; ++i) {
    totals[i] = hn::MulAdd(weight, hn::Set(df, rows.x[i][k + kByte]), totals[i]);
  }
}

// `offset`: the minimum of the group, or the zero point.
template <int kBits, bool kHasMinima, int kColumns>
HWY_INLINE void add_float_unit(const FloatRows& rows, VecFloat scale, VecFloat offset, const uint8_t* unit, int64_t k,
                               VecFloat (&totals)[kFloatRows]) {
  if constexpr (kColumns < unit_of(kBits) / 4) {
    const auto weights = hn::BitCast(hn::Rebind<uint32_t, Tag32>(), weights_at<kBits, kColumns>(unit));
    add_float_column<0, kHasMinima>(rows, scale, offset, weights, k, totals);
    add_float_column<1, kHasMinima>(rows, scale, offset, weights, k, totals);
    add_float_column<2, kHasMinima>(rows, scale, offset, weights, k, totals);
    add_float_column<3, kHasMinima>(rows, scale, offset, weights, k, totals);
    add_float_unit<kBits, kHasMinima, kColumns + 1>(rows, scale, offset, unit, k + 4, totals);
  }
}

// `x`: kFloatRows rows, of which `stored` are stored; the last group's columns are in `ends` where they must be padded.
template <int kBits, bool kFactors>
void multiply_float_part(const PackedWeights& w, const float* const (&x)[kFloatRows],
                         const float (&ends)[kFloatRows][kMaxGroup], int64_t tile, int vector, int64_t stored,
                         float* out) {
  const TagFloat df;
  VecFloat totals[kFloatRows];
  for (VecFloat& total : totals) {
    total = hn::Zero(df);
  }
  FloatRows rows;
  const uint8_t* group = w.blocks_of(tile);
  int64_t left_in_block = 0;
  VecFloat factor = hn::Zero(df), minimum_factor = hn::Zero(df);
  for (int64_t g = 0; g < w.groups; ++g, --left_in_block, group += w.group_bytes) {
    const bool whole = (g + 1) * w.group <= w.columns;
    if (kFactors && left_in_block == 0) {
      factor = halves_at(group, vector);
      if (w.has_minima) {
        minimum_factor = halves_at(group + kTileOutputs * 2, vector);
      }
      group += w.factor_bytes;
      left_in_block = w.block_groups;
    }
    for (int i = 0; i < kFloatRows; ++i) {
      rows.x[i] = whole ? x[i] + g * w.group : ends[i];
    }
    const VecFloat scale = parameters_at<kFactors>(w, group, vector, factor);
    const uint8_t* unit = group + w.scale_bytes * (w.has_minima ? 2 : 1) + vector * kLanes32 * 4;
    const VecFloat offset = w.has_minima ? parameters_at<kFactors>(w, group + w.scale_bytes, vector, minimum_factor)
                                         : hn::Set(df, static_cast<float>(w.zero_point));
    for (int64_t k = 0; k < w.group; k += unit_of(kBits)) {
      if (w.has_minima) {
        add_float_unit<kBits, true, 0>(rows, scale, offset, unit, k, totals);
      } else {
        add_float_unit<kBits, false, 0>(rows, scale, offset, unit, k, totals);
      }
      unit += unit_of(kBits) * kTileOutputs * kBits / 8;
    }
  }
  const int64_t lane = tile * kTileOutputs + vector * kLanes32;
  for (int i = 0; i < kFloatRows && i < stored; ++i) {
    if (lane < w.rows) {
      hn::StoreN(totals[i], df, out + i * w.rows + lane,
                 static_cast<size_t>(std::min<int64_t>(kLanes32, w.rows - lane)));
    }
  }
}

template <int kBits>
void multiply_float_bits(const PackedWeights& w, const float* x, int64_t rows, int64_t begin, int64_t end, float* out) {
  for (int64_t first = 0; first < rows; first += kFloatRows) {
    const float* from[kFloatRows];
    float ends[kFloatRows][kMaxGroup];
    const int64_t rest = w.columns % w.group;
    for (int i = 0; i < kFloatRows; ++i) {
      from[i] = x + std::min(first + i, rows - 1) * w.columns;
      std::copy_n(from[i] + w.columns - rest, rest, ends[i]);
      std::fill(ends[i] + rest, ends[i] + kMaxGroup, 0.0f);
    }
    for (int64_t tile = begin; tile < end; ++tile) {
      for (int v = 0; v < kVectorsOfTile; ++v) {
        const auto part = w.block_factors ? multiply_float_part<kBits, true> : multiply_float_part<kBits, false>;
        part(w, from, ends, tile, v, rows - first, out + first * w.rows);
      }
    }
  }
}

void multiply_float(const PackedWeights& w, const float* x, int64_t rows, int64_t begin, int64_t end, float* out) {
  ET_LLM_FOR_BITS(w.bits, multiply_float_bits, w, x, rows, begin, end, out)
}
#undef ET_LLM_FOR_BITS

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

HWY_EXPORT(block_rows);
HWY_EXPORT(multiply_int8);
HWY_EXPORT(multiply_float);

namespace {

// Up to so many rows are multiplied one by one: a block would be mostly padding.
constexpr int64_t kSingleRows = 2;

int64_t interleave_of(int64_t rows) {
  return rows <= kSingleRows ? 1 : HWY_DYNAMIC_DISPATCH(block_rows)();
}

}  // namespace

int64_t quantized_bytes(const PackedWeights& weights, int64_t rows) {
  const int64_t interleave = interleave_of(rows);
  const int64_t padded = (rows + interleave - 1) / interleave * interleave;
  return padded * (weights.padded_columns() + weights.groups * 12 + 4);
}

QuantizedRows place_rows(const PackedWeights& weights, int64_t rows, void* memory) {
  QuantizedRows placed;
  placed.rows = rows;
  placed.interleave = interleave_of(rows);
  const int64_t padded = placed.blocks() * placed.interleave;
  placed.scales = static_cast<float*>(memory);
  placed.scaled_sums = placed.scales + padded * weights.groups;
  placed.sums = reinterpret_cast<int32_t*>(placed.scaled_sums + padded * weights.groups);
  placed.offsets = reinterpret_cast<float*>(placed.sums + padded * weights.groups);
  placed.values = reinterpret_cast<int8_t*>(placed.offsets + padded);
  return placed;
}

void multiply_tiles(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(multiply_int8)(weights, rows, begin, end, out);
}

void multiply_float_tiles(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                          float* out) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(weights, x, rows, begin, end, out);
}

}  // namespace torch::executor::native
#endif
