// SPDX-License-Identifier: BSD-3-Clause
// int8 GEMM for processors with AVX2 but without dot product instructions. XNNPACK's kernel keeps four partial sums of
// each column and adds them up at the end of each tile. If k is small, as in the 1 x 1 convolutions of MobileNets, that
// takes longer than the multiplications. Here each lane of an accumulator is one column.
#include "kernels/products.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/integer_kernels.h"
#include "kernels/integer_results.h"

/// The compiler keeps the arrays of a tile in registers only when each loop over them is unrolled.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr size_t kColumns = kIntegerColumns;
constexpr uint8_t kLog2Steps = 1;  // pairs
/// Rows of a tile: 12 of 16 registers are accumulators, two hold weights, one holds a pair of elements of A.
constexpr size_t kRows = 6;
/// Elements of a row that are widened to 16 bits at once.
constexpr size_t kWidened = 1024;

struct WidenedRows {
  alignas(32) int16_t of[kRows][kWidened];
};

/// Widens `count` elements, padded with a zero to an even number. Reads exactly `count` elements.
EXECUTORCH_AVX2_INLINE void widen(const int8_t* from, size_t count, int16_t* to) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  if (i + 8 <= count) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i))));
    i += 8;
  }
  for (; i < count; ++i) {
    to[i] = from[i];
  }
  if (count % 2 != 0) {
    to[count] = 0;
  }
}

/// Accumulates `count` steps of k, rounded up to pairs. Returns the end of their weights.
template <size_t Rows, bool IsWhole>
EXECUTORCH_AVX2_INLINE const int8_t* accumulate(const WidenedRows& widened, size_t count, const int8_t* weights,
                                                __m256i (&low)[Rows], __m256i (&high)[Rows]) {
  for (size_t k = 0; k < count; k += 2, weights += 2 * kColumns) {
    const __m256i left = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
    __m256i right = _mm256_setzero_si256();
    if constexpr (IsWhole) {
      right = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + kColumns)));
    }
    EXECUTORCH_UNROLL
    for (size_t i = 0; i < Rows; ++i) {
      int32_t pair;
      std::memcpy(&pair, widened.of[i] + k, sizeof(pair));
      const __m256i elements = _mm256_set1_epi32(pair);
      low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(elements, left));
      if constexpr (IsWhole) {
        high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(elements, right));
      }
    }
  }
  return weights;
}

size_t round_up_to_pairs(size_t count) {
  return (count + 1) / 2 * 2;
}

/// Multiplies `Rows` rows by a panel, or by its first eight columns unless `IsWhole`. If `is_widened`, `widened` holds
/// the whole rows already.
template <size_t Rows, bool IsWhole, typename Source>
EXECUTORCH_AVX2 void multiply_tile(const IntegerProduct& product, const Source& source, WidenedRows& widened,
                                   bool is_widened, const int8_t* panel, int8_t* c, size_t columns) {
  __m256i low[Rows], high[Rows];
  EXECUTORCH_UNROLL
  for (size_t i = 0; i < Rows; ++i) {
    low[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel));
    high[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + 32));
  }
  panel += kColumns * sizeof(int32_t);
  if (is_widened) {
    const size_t count = round_up_to_pairs(product.depth) * source.tap_count();
    panel = accumulate<Rows, IsWhole>(widened, count, panel, low, high);
  } else {
    for (size_t tap = 0; tap < source.tap_count(); ++tap) {
      for (size_t start = 0; start < product.depth; start += kWidened) {
        const size_t count = std::min(kWidened, product.depth - start);
        for (size_t i = 0; i < Rows; ++i) {
          widen(source.at(tap, i) + start, count, widened.of[i]);
        }
        panel = accumulate<Rows, IsWhole>(widened, count, panel, low, high);
      }
    }
  }
  const auto* scales = reinterpret_cast<const float*>(panel);
  const __m256 low_scale = _mm256_loadu_ps(scales), high_scale = _mm256_loadu_ps(scales + 8);
  const IntegerResults results(*product.params);
  EXECUTORCH_UNROLL
  for (size_t i = 0; i < Rows; ++i) {
    const __m128i result = results.of(low[i], high[i], low_scale, high_scale);
    store_int8(c, result, columns);
    c = plus_bytes(c, product.row_stride);
  }
}

template <size_t Rows, typename Source>
EXECUTORCH_AVX2 void multiply_panels(size_t columns, const IntegerProduct& product, const Source& source) {
  WidenedRows widened;
  const size_t of_tap = round_up_to_pairs(product.depth);
  const size_t depth = of_tap * source.tap_count();
  // Rows that fit in `widened` are widened once for all panels.
  const bool is_widened = depth <= kWidened;
  for (size_t tap = 0; is_widened && tap < source.tap_count(); ++tap) {
    for (size_t i = 0; i < Rows; ++i) {
      widen(source.at(tap, i), product.depth, widened.of[i] + tap * of_tap);
    }
  }
  const int8_t* panel = product.weights;
  int8_t* c = product.c;
  while (true) {
    if (columns > kColumns / 2) {
      multiply_tile<Rows, true>(product, source, widened, is_widened, panel, c, columns);
    } else {
      multiply_tile<Rows, false>(product, source, widened, is_widened, panel, c, columns);
    }
    if (columns <= kColumns) {
      return;
    }
    columns -= kColumns;
    panel += IntegerProduct::panel_size(depth);
    c = plus_bytes(c, product.panel_stride);
  }
}

struct Tiles {
  static constexpr size_t kRows = xnnpack::kRows;

  template <typename Source>
  static void multiply(size_t rows, size_t columns, const IntegerProduct& product, const Source& source) {
    with_row_count<kRows>(rows, [&](auto count) { multiply_panels<count()>(columns, product, source); });
  }
};

}  // namespace

void use_avx2_integer_products() {
  if (auto* config = find_integer_config(xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_3x8c8__avx2, 3)) {
    IntegerKernels<Tiles>::use_in(*config, kLog2Steps);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
