// SPDX-License-Identifier: BSD-3-Clause
// The layouts of a block's sums in vectors, and the dot products that are added to them.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/dots-inl.h"
#include "kernels/llm/cpu/lowbit/multiply.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Of a block, whose operands stay in registers: the vectors of sums, the vectors of outputs, and the rows.
constexpr int kBlockSums = 8;
constexpr int kBlockVectors = std::min(kVectorsOfTile, 2);
constexpr int kBlockRows = kBlockSums / kBlockVectors;

// If a dot product is one instruction, the registers hold the operands of several steps and a block's arrays of
// vectors, provided that each loop over them is unrolled: GCC copies all sums in each iteration of a loop over steps.
// Dot products of several instructions would spill.
#if ET_LLM_DOTPROD || HWY_TARGET == HWY_AVX3_DL
#define ET_LLM_UNROLL _Pragma("GCC unroll 16")
constexpr int kBlockSteps = 4;
#else
#define ET_LLM_UNROLL
constexpr int kBlockSteps = 1;
#endif

// A layout in which each vector has outputs of one row. kSmall: see add_dots().
template <bool kSmall>
struct OfOneRow {
  static constexpr int kRowParts = kBlockRows, kOutputParts = kBlockVectors, kColumns = 4;
  // The index of the sums of a part of the rows and a part of the outputs.
  static constexpr int place(int rows, int outputs) { return outputs * kRowParts + rows; }

  // Reorders a panel for add().
  static void prepare(uint8_t*, int64_t) {}

  // Adds the dot products over the next kColumns columns.
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

  // Loads a number for each row or output, and broadcasts it to the layout of the sums.
  static HWY_INLINE VecFloat of_rows(const float* from, int part) { return hn::Set(TagFloat(), from[part]); }
  static HWY_INLINE Vec32 of_rows(const int32_t* from, int32_t factor, int part) {
    return hn::Set(Tag32(), from[part] * factor);
  }
  static HWY_INLINE VecFloat of_outputs(const float* from, int part) {
    return hn::LoadU(TagFloat(), from + part * kLanes32);
  }

  // Converts sums from this layout to that of OfOneRow, and back.
  static HWY_INLINE void arrange(VecFloat (&)[kBlockSums]) {}
};

#if ET_LLM_I8MM
// A layout in which each vector has two outputs of two rows.
struct OfTwoRows {
  static constexpr int kRowParts = kBlockRows / 2, kOutputParts = kBlockVectors * 2, kColumns = 8;
  static_assert(kBlockRows == 4 && kBlockVectors == 2, "of NEON");
  static constexpr int place(int rows, int outputs) { return outputs / 2 * 4 + rows * 2 + outputs % 2; }
  using Tag64 = hn::Repartition<int64_t, Tag32>;

  // Reorders a panel so that eight columns of an output are contiguous.
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
    const VecInt8 rows[] = {hn::LoadU(TagInt8(), activations), hn::LoadU(TagInt8(), activations + 2 * kColumns)};
    for (int v = 0; v < kOutputParts; ++v) {
      const VecByte operand = hn::LoadU(TagByte(), weights + v * 16);
      for (int i = 0; i < kRowParts; ++i) {
        Vec32& sum = sums[place(i, v)];
        sum = add_products(rows[i], operand, sum);
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

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
