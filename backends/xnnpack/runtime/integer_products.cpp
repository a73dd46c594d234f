// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices of int8 for processors with AVX2 and without instructions for dot products. XNNPACK's kernel for
// them keeps four partial sums of each column, which it has to add up for each tile: where the depth is small, as in
// the 1 x 1 convolutions of mobile nets, that takes longer than the products. Here a sum is one column, and an element
// of A meets sixteen of them.
#include "products.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "integer_results.h"
#include "product_rows.h"
#include "xnnpack/config.h"
#include "xnnpack/gemm.h"

/// The arrays of a tile are registers only when each loop over them is written out.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Columns of a panel of packed weights: 16 biases, then for each two steps of the depth 16 pairs of weights, then 16
/// scales.
constexpr size_t kColumns = 16;
/// Rows whose sums fit into registers: 12 of 16 hold sums, two a part of the panel, one a pair of elements of A.
constexpr size_t kRows = 6;
/// Elements of a row that are widened to 16 bits at once.
constexpr size_t kWidened = 1024;

struct Product {
  size_t depth;  // of each position of the window
  const int8_t* weights;
  int8_t* c;
  size_t row_stride, panel_stride;  // bytes
  const xnn_qs8_qc8w_conv_minmax_params* params;
};

struct WidenedRows {
  alignas(32) int16_t of[kRows][kWidened];
};

/// Widens `count` elements, and zeros up to a number that is even. Reads nothing behind them.
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

/// Adds `count` steps of the depth, an even number, to the sums. Returns the end of their weights.
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

/// Sums of `Rows` rows with one panel, or with its first eight columns. `is_widened`: all of the rows is in `widened`.
template <size_t Rows, bool IsWhole, typename Source>
EXECUTORCH_AVX2 void multiply_tile(const Product& product, const Source& source, WidenedRows& widened, bool is_widened,
                                   const int8_t* panel, int8_t* c, size_t columns) {
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
EXECUTORCH_AVX2 void multiply_panels(size_t columns, const Product& product, const Source& source) {
  WidenedRows widened;
  const size_t of_tap = round_up_to_pairs(product.depth);
  const size_t depth = of_tap * source.tap_count();
  // Once for all panels, where they fit.
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
    panel += kColumns * (sizeof(int32_t) + depth + sizeof(float));
    c = plus_bytes(c, product.panel_stride);
  }
}

template <typename Source>
void multiply(size_t rows, size_t columns, const Product& product, const Source& source) {
  with_row_count<kRows>(rows, [&](auto count) { multiply_panels<count()>(columns, product, source); });
}

Product make_product(size_t depth, const void* w, void* c, size_t row_stride, size_t panel_stride, const void* params) {
  return {depth,
          static_cast<const int8_t*>(w),
          static_cast<int8_t*>(c),
          row_stride,
          panel_stride,
          static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params)};
}

void integer_gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride, const void* w, void* c,
                  size_t cm_stride, size_t cn_stride, const void* params) {
  multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
           StridedRows<int8_t>{static_cast<const int8_t*>(a), a_stride});
}

/// For tables with pointers to `TableRows` rows.
template <size_t TableRows>
void integer_igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a, const void* w, void* c, size_t cm_stride,
                   size_t cn_stride, size_t a_offset, const void* zero, const void* params) {
  multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
           indirect_rows<int8_t, TableRows>(a, ks, a_offset, zero));
}

template <size_t... Rows>
void set_kernels(xnn_gemm_config& config, std::index_sequence<Rows...>) {
  ((config.minmax.gemm[Rows].function[XNN_UARCH_DEFAULT] = integer_gemm), ...);
  ((config.minmax.igemm[Rows].function[XNN_UARCH_DEFAULT] = integer_igemm<Rows + 1>), ...);
}

}  // namespace

void use_integer_products() {
  // The configuration is a variable of XNNPACK's, made by the first call, which its operators read when they are made.
  auto* config = const_cast<xnn_gemm_config*>(xnn_init_qs8_qc8w_gemm_config());
  const auto avx2 = reinterpret_cast<xnn_gemm_ukernel_fn>(xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_3x8c8__avx2);
  if (config == nullptr || config->mr != 3 || config->minmax.gemm[2].function[XNN_UARCH_DEFAULT] != avx2) {
    return;
  }
  set_kernels(*config, std::make_index_sequence<kRows>());
  config->mr = kRows;
  config->nr = kColumns;
  config->log2_kr = 1;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
