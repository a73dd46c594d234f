// SPDX-License-Identifier: BSD-3-Clause
// Sums of products of 8-bit integers. Operands that several sums use are copied once, as int16 with the zero point
// subtracted. Loops multiply int16 by int16, so that compilers use instructions that add pairs of products.
#pragma once

#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native::cadence {

/// The most elements of a sum in 32 bits: 8192 products of 511 * 511 are below 2^31.
constexpr int64_t kNarrowSum = 8192;

/// Whether sums of up to kNarrowSum products fit 32 bits.
template <typename X, typename W>
bool is_narrow(int64_t x_zero, int64_t w_zero) {
  return sizeof(X) + sizeof(W) == 2 && is_narrow(x_zero) && is_narrow(w_zero);
}

/// Whether 32 bits hold a sum of `depth` products plus each of the biases: both are at most 2^30.
inline bool has_narrow_results(int64_t depth, const int32_t* biases, int64_t count) {
  constexpr int32_t kMost = int32_t{1} << 30;
  bool is_small = depth <= kNarrowSum / 2;
  for (int64_t i = 0; i < count; ++i) {
    is_small &= biases[i] <= kMost && biases[i] >= -kMost;
  }
  return is_small;
}

/// Subtracts the zero point from `count` values, which lie `step` elements apart, and stores the differences.
template <typename T>
void less_zero_point(const T* values, int64_t step, int32_t zero, int64_t count, int16_t* results) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      results[i] = static_cast<int16_t>(values[i] - zero);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    results[i] = static_cast<int16_t>(values[i * step] - zero);
  }
}

inline void fill_zeros(int16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = 0;
  }
}

/// Adds (taps[k] - zero) * line[i * step + k * dilation] to sums[i], for each k and i < count. `count` is a multiple of
/// kLanes.
constexpr int64_t kLanes = 16;
void add_filtered_line(const int16_t* line, int64_t step, const int8_t* taps, int32_t zero, int64_t tap_count,
                       int64_t dilation, int64_t count, int32_t* sums);
void add_filtered_line(const int16_t* line, int64_t step, const uint8_t* taps, int32_t zero, int64_t tap_count,
                       int64_t dilation, int64_t count, int32_t* sums);

/// Adds (pixels[tap][i] - zero) * filters[tap][i] to sums[i], for each tap.
void add_filtered_pixels(const int8_t* const* pixels, const int16_t* const* filters, int64_t tap_count, int16_t zero,
                         int64_t count, int32_t* sums);
void add_filtered_pixels(const uint8_t* const* pixels, const int16_t* const* filters, int64_t tap_count, int16_t zero,
                         int64_t count, int32_t* sums);

/// Sums of the products of rows and columns of int16, of at most kNarrowSum elements each. Rows are copied once for all
/// columns; a few columns at a time, once for all rows.
class Block {
 public:
  static constexpr int64_t kRows = 16, kColumns = 64, kDepth = 192;

  Block() : rows_(), columns_() {}

  /// fill_rows(start, count, to) stores the elements [start, start + count) of each row at to + row * kDepth;
  /// fill_column(column, start, count, to) stores those of one column.
  template <typename FillRows, typename FillColumn>
  void multiply(int64_t row_count, int64_t column_count, int64_t depth, const FillRows& fill_rows,
                const FillColumn& fill_column) {
    for (int64_t i = 0; i < kColumns * kRows; ++i) {
      sums_[i] = 0;
    }
    for (int64_t start = 0; start < depth; start += kDepth) {
      const int64_t count = depth - start < kDepth ? depth - start : kDepth;
      const int64_t padded = (count + kStep - 1) / kStep * kStep;
      fill_rows(start, count, rows_);
      for (int64_t row = 0; row < row_count && count < padded; ++row) {
        fill_zeros(rows_ + row * kDepth + count, padded - count);
      }
      for (int64_t first = 0; first < column_count; first += kGroup) {
        const int64_t group = column_count - first < kGroup ? column_count - first : kGroup;
        for (int64_t column = 0; column < group; ++column) {
          fill_column(first + column, start, count, columns_ + column * kDepth);
        }
        add_products(row_count, group, padded, sums_ + first * kRows);
      }
    }
  }

  /// The sums of one column, one of each row.
  const int32_t* sums(int64_t column) const { return sums_ + column * kRows; }

 private:
  static constexpr int64_t kGroup = 4;  // columns that are multiplied together
  static constexpr int64_t kStep = 16;  // the depth is padded with zeros to a multiple of it

  void add_products(int64_t row_count, int64_t group, int64_t depth, int32_t* sums) const;

  int16_t rows_[kRows * kDepth];
  int16_t columns_[kGroup * kDepth];
  int32_t sums_[kColumns * kRows];
};

/// Stores the integers of sums plus bias(i), times a factor. `is_narrow`: 32 bits hold the results.
template <typename T, typename Bias>
void store_sums(const Quantizer<T>& quantize, const int32_t* sums, const Bias& bias, bool is_narrow, float factor,
                int64_t count, T* results) {
  if (is_narrow) {
    quantize.store([=](int64_t i) { return static_cast<float>(sums[i] + bias(i)) * factor; }, count, results);
    return;
  }
  quantize.store([=](int64_t i) { return static_cast<float>(static_cast<int64_t>(sums[i]) + bias(i)) * factor; }, count,
                 results);
}

}  // namespace torch::executor::native::cadence
