// SPDX-License-Identifier: BSD-3-Clause
// The loops of sums of products. Compilers vectorise them, on x86-64 for AVX2 as well.
#include "kernels/cadence/cpu/dot_products.h"

#include <kernels/portable/cpu/math/simd.h>

namespace torch::executor::native::cadence {
namespace {

ET_ALWAYS_INLINE int32_t product(int16_t x, int16_t y) {
  return static_cast<int32_t>(x) * static_cast<int32_t>(y);
}

constexpr int64_t kDepth = Block::kDepth, kRows = Block::kRows;

// Eight sums stay in registers. Each is written out, because compilers do not vectorise sums in an array.
ET_ALWAYS_INLINE void multiply_two_by_four(const int16_t* x, const int16_t* w, int64_t depth, int32_t* sums) {
  const int16_t* const y = x + kDepth;
  int32_t x0 = 0, x1 = 0, x2 = 0, x3 = 0, y0 = 0, y1 = 0, y2 = 0, y3 = 0;
  for (int64_t i = 0; i < depth; ++i) {
    x0 += product(x[i], w[i]);
    x1 += product(x[i], w[kDepth + i]);
    x2 += product(x[i], w[2 * kDepth + i]);
    x3 += product(x[i], w[3 * kDepth + i]);
    y0 += product(y[i], w[i]);
    y1 += product(y[i], w[kDepth + i]);
    y2 += product(y[i], w[2 * kDepth + i]);
    y3 += product(y[i], w[3 * kDepth + i]);
  }
  sums[0] += x0;
  sums[kRows] += x1;
  sums[2 * kRows] += x2;
  sums[3 * kRows] += x3;
  sums[1] += y0;
  sums[kRows + 1] += y1;
  sums[2 * kRows + 1] += y2;
  sums[3 * kRows + 1] += y3;
}

ET_ALWAYS_INLINE void multiply_four_by_one(const int16_t* x, const int16_t* w, int64_t depth, int32_t* sums) {
  int32_t x0 = 0, x1 = 0, x2 = 0, x3 = 0;
  for (int64_t i = 0; i < depth; ++i) {
    x0 += product(x[i], w[i]);
    x1 += product(x[kDepth + i], w[i]);
    x2 += product(x[2 * kDepth + i], w[i]);
    x3 += product(x[3 * kDepth + i], w[i]);
  }
  sums[0] += x0;
  sums[1] += x1;
  sums[2] += x2;
  sums[3] += x3;
}

ET_ALWAYS_INLINE void multiply_block_body(const int16_t* rows, int64_t row_count, const int16_t* columns,
                                          int64_t column_count, int64_t depth, int32_t* sums) {
  const int64_t whole = depth / 16 * 16;  // it is a multiple of 16; this tells compilers so
  if (column_count == 1) {
    for (int64_t row = 0; row < row_count; row += 4) {
      multiply_four_by_one(rows + row * kDepth, columns, whole, sums + row);
    }
    return;
  }
  for (int64_t row = 0; row < row_count; row += 2) {
    multiply_two_by_four(rows + row * kDepth, columns, whole, sums + row);
  }
}

ET_MULTIVERSION(static, multiply_block,
                (const int16_t* rows, int64_t row_count, const int16_t* columns, int64_t column_count, int64_t depth,
                 int32_t* sums),
                (rows, row_count, columns, column_count, depth, sums))

template <typename T>
ET_ALWAYS_INLINE void add_filtered_line_body(const int16_t* line, int64_t step, const T* taps, int32_t zero,
                                             int64_t tap_count, int64_t dilation, int64_t count, int32_t* sums) {
  const int64_t whole = count / kLanes * kLanes;  // it is a multiple of kLanes; this tells compilers so
  const auto factor = [&](int64_t tap) { return static_cast<int16_t>(taps[tap] - zero); };
  int64_t tap = 0;
  // Three taps at a time load and store the sums a third as often.
  for (; step == 1 && tap + 3 <= tap_count; tap += 3) {
    const int16_t a = factor(tap), b = factor(tap + 1), c = factor(tap + 2);
    const int16_t *const x = line + tap * dilation, *const y = x + dilation, *const z = y + dilation;
    for (int64_t i = 0; i < whole; ++i) {
      sums[i] += product(x[i], a) + product(y[i], b) + product(z[i], c);
    }
  }
  for (; tap < tap_count; ++tap) {
    const int16_t a = factor(tap);
    const int16_t* const values = line + tap * dilation;
    if (step == 1) {
      for (int64_t i = 0; i < whole; ++i) {
        sums[i] += product(values[i], a);
      }
      continue;
    }
    for (int64_t i = 0; i < whole; ++i) {
      sums[i] += product(values[i * step], a);
    }
  }
}

template <typename T>
ET_ALWAYS_INLINE void add_filtered_pixels_body(const T* const* pixels, const int16_t* const* filters, int64_t tap_count,
                                               int16_t zero, int64_t count, int32_t* sums) {
  for (int64_t tap = 0; tap < tap_count; ++tap) {
    const T* const values = pixels[tap];
    const int16_t* const factors = filters[tap];
    for (int64_t i = 0; i < count; ++i) {
      sums[i] += product(static_cast<int16_t>(values[i] - zero), factors[i]);
    }
  }
}

}  // namespace

void Block::add_products(int64_t row_count, int64_t group, int64_t depth, int32_t* sums) const {
  multiply_block(rows_, row_count, columns_, group, depth, sums);
}

ET_MULTIVERSION(, add_filtered_line,
                (const int16_t* line, int64_t step, const int8_t* taps, int32_t zero, int64_t tap_count,
                 int64_t dilation, int64_t count, int32_t* sums),
                (line, step, taps, zero, tap_count, dilation, count, sums))

ET_MULTIVERSION(, add_filtered_line,
                (const int16_t* line, int64_t step, const uint8_t* taps, int32_t zero, int64_t tap_count,
                 int64_t dilation, int64_t count, int32_t* sums),
                (line, step, taps, zero, tap_count, dilation, count, sums))

ET_MULTIVERSION(, add_filtered_pixels,
                (const int8_t* const* pixels, const int16_t* const* filters, int64_t tap_count, int16_t zero,
                 int64_t count, int32_t* sums),
                (pixels, filters, tap_count, zero, count, sums))

ET_MULTIVERSION(, add_filtered_pixels,
                (const uint8_t* const* pixels, const int16_t* const* filters, int64_t tap_count, int16_t zero,
                 int64_t count, int32_t* sums),
                (pixels, filters, tap_count, zero, count, sums))

}  // namespace torch::executor::native::cadence
