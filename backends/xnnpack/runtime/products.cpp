// SPDX-License-Identifier: BSD-3-Clause
#include "products.h"

#ifdef EXECUTORCH_XNNPACK_AVX2_KERNELS

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "product_rows.h"
#include "xnnpack/config.h"
#include "xnnpack/gemm.h"

#define EXECUTORCH_AVX2 __attribute__((target("avx2,fma")))
#define EXECUTORCH_AVX2_INLINE EXECUTORCH_AVX2 __attribute__((always_inline)) inline
/// The arrays of a tile are registers only when each loop over them is written out.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Columns of a panel of packed weights: 16 biases, then 16 weights for each step of the depth.
constexpr size_t kColumns = 16;
/// Rows whose sums fit into registers: 12 of 16 hold sums, two a row of the panel and one an element of A.
constexpr size_t kTileRows = 6;
/// Rows that pass by a panel of weights while that is in the cache.
constexpr size_t kRows = 4 * kTileRows;
/// Floats between what is read of a panel and what is fetched meanwhile.
constexpr size_t kAhead = 16 * kColumns;

struct Product {
  size_t depth;  // of each position of the window
  const float* weights;
  float* c;
  size_t row_stride, panel_stride;  // bytes
  float least, most;
};

EXECUTORCH_AVX2_INLINE void store(float* to, __m256 low, __m256 high, size_t columns) {
  if (columns >= kColumns) {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + 8, high);
    return;
  }
  alignas(32) float sums[kColumns];
  _mm256_store_ps(sums, low);
  _mm256_store_ps(sums + 8, high);
  for (size_t i = 0; i < columns; ++i) {
    to[i] = sums[i];
  }
}

/// Panels that few rows pass by at once. Such products wait for the weights, and memory brings several streams of them
/// faster than one; one sum after the other would wait for itself as well.
template <size_t Rows>
constexpr size_t kPanels = Rows == 1   ? 4
                           : Rows == 2 ? 3
                           : Rows == 3 ? 2
                                       : 1;

/// Sums of `Rows` rows from `first_row` on with `Panels` panels.
template <size_t Rows, size_t Panels, typename Source>
EXECUTORCH_AVX2 void multiply_tile(const Product& product, const Source& source, size_t first_row, const float* panel,
                                   float* c, size_t columns) {
  const size_t panel_size = kColumns * (1 + source.tap_count() * product.depth);
  __m256 low[Rows * Panels], high[Rows * Panels];
  EXECUTORCH_UNROLL
  for (size_t p = 0; p < Panels; ++p) {
    EXECUTORCH_UNROLL
    for (size_t i = 0; i < Rows; ++i) {
      low[p * Rows + i] = _mm256_load_ps(panel + p * panel_size);
      high[p * Rows + i] = _mm256_load_ps(panel + p * panel_size + 8);
    }
  }
  panel += kColumns;
  for (size_t tap = 0; tap < source.tap_count(); ++tap) {
    const float* a[Rows];
    EXECUTORCH_UNROLL
    for (size_t i = 0; i < Rows; ++i) {
      a[i] = source.at(tap, first_row + i);
    }
    for (size_t k = 0; k < product.depth; ++k, panel += kColumns) {
      EXECUTORCH_UNROLL
      for (size_t p = 0; p < Panels; ++p) {
        const float* const weights = panel + p * panel_size;
        const __m256 left = _mm256_load_ps(weights), right = _mm256_load_ps(weights + 8);
        if constexpr (Panels == 1) {
          _mm_prefetch(reinterpret_cast<const char*>(weights + kAhead), _MM_HINT_T0);
        }
        EXECUTORCH_UNROLL
        for (size_t i = 0; i < Rows; ++i) {
          const __m256 element = _mm256_broadcast_ss(a[i] + k);
          low[p * Rows + i] = _mm256_fmadd_ps(element, left, low[p * Rows + i]);
          high[p * Rows + i] = _mm256_fmadd_ps(element, right, high[p * Rows + i]);
        }
      }
    }
  }
  const __m256 least = _mm256_set1_ps(product.least), most = _mm256_set1_ps(product.most);
  c = plus_bytes(c, first_row * product.row_stride);
  EXECUTORCH_UNROLL
  for (size_t p = 0; p < Panels; ++p) {
    EXECUTORCH_UNROLL
    for (size_t i = 0; i < Rows; ++i) {
      store(plus_bytes(c, i * product.row_stride + p * product.panel_stride),
            _mm256_min_ps(most, _mm256_max_ps(least, low[p * Rows + i])),
            _mm256_min_ps(most, _mm256_max_ps(least, high[p * Rows + i])), columns - p * kColumns);
    }
  }
}

template <typename Source>
void multiply(size_t rows, size_t columns, const Product& product, const Source& source) {
  const size_t tiles = (rows + kTileRows - 1) / kTileRows;
  const float* panel = product.weights;
  float* c = product.c;
  while (true) {
    // Tiles of about the same height: seven rows are four and three.
    size_t panels = 1;
    for (size_t tile = 0, row = 0; tile < tiles; ++tile) {
      const size_t count = (rows - row + tiles - tile - 1) / (tiles - tile);
      with_row_count(count, [&](auto height) {
        constexpr size_t kMost = kPanels<height()>;
        if (kMost > 1 && tiles == 1 && columns > (kMost - 1) * kColumns) {
          panels = kMost;
          multiply_tile<height(), kMost>(product, source, row, panel, c, columns);
        } else {
          multiply_tile<height(), 1>(product, source, row, panel, c, columns);
        }
      });
      row += count;
    }
    if (columns <= panels * kColumns) {
      return;
    }
    columns -= panels * kColumns;
    panel += panels * kColumns * (1 + source.tap_count() * product.depth);
    c = plus_bytes(c, panels * product.panel_stride);
  }
}

Product make_product(size_t depth_bytes, const void* w, void* c, size_t row_stride, size_t panel_stride,
                     const void* params) {
  const auto& limits = static_cast<const xnn_f32_minmax_params*>(params)->scalar;
  return {depth_bytes / sizeof(float),
          static_cast<const float*>(w),
          static_cast<float*>(c),
          row_stride,
          panel_stride,
          limits.min,
          limits.max};
}

void tall_gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride, const void* w, void* c,
               size_t cm_stride, size_t cn_stride, const void* params) {
  multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
           StridedRows<float>{static_cast<const float*>(a), a_stride});
}

/// For tables with pointers to `TableRows` rows.
template <size_t TableRows>
void tall_igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a, const void* w, void* c, size_t cm_stride,
                size_t cn_stride, size_t a_offset, const void* zero, const void* params) {
  multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
           indirect_rows<float, TableRows>(a, ks, a_offset, zero));
}

template <size_t... Rows>
void set_kernels(xnn_gemm_config& config, std::index_sequence<Rows...>) {
  ((config.minmax.gemm[Rows].function[XNN_UARCH_DEFAULT] = tall_gemm), ...);
  ((config.minmax.igemm[Rows].function[XNN_UARCH_DEFAULT] = tall_igemm<Rows + 1>), ...);
}

}  // namespace

void use_tall_products() {
  // The configuration is a variable of XNNPACK's, made by the first call, which its operators read when they are made.
  auto* config = const_cast<xnn_gemm_config*>(xnn_init_f32_gemm_config());
  const auto avx2 = reinterpret_cast<xnn_gemm_ukernel_fn>(xnn_f32_gemm_minmax_ukernel_5x16__fma3_broadcast);
  if (config == nullptr || config->mr != 5 || config->minmax.gemm[4].function[XNN_UARCH_DEFAULT] != avx2 ||
      !__builtin_cpu_supports("avx2")) {
    return;
  }
  set_kernels(*config, std::make_index_sequence<kRows>());
  config->mr = kRows;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
