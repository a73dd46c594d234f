// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * float32 GEMM tiles for one instruction set. A file that includes this header first defines EXECUTORCH_TARGET, the
 * attribute of functions that use the instruction set, and instantiates the templates with a type like this:
 *
 *     struct Simd {
 *       using Vector = ...;
 *       static constexpr size_t kWidth = ...;       // floats of a vector
 *       static constexpr size_t kTilePanels = ...;  // panels whose accumulators for six rows fit in registers
 *       static constexpr size_t kMostPanels = ...;  // most panels of a tile with fewer rows
 *       static constexpr size_t kAhead = ...;       // prefetch distance in steps of a panel, or 0
 *       static constexpr size_t kWindowRows = ...;  // most rows of an IGEMM tile
 *       static Vector load(const float* from);      // addresses need no alignment, here and below
 *       static Vector broadcast(const float* from);
 *       static Vector multiply_add(Vector a, Vector b, Vector sum);
 *       static Vector clamp(Vector value, Vector least, Vector most);
 *       static void store(float* to, Vector value);
 *       static void store_some(float* to, Vector value, size_t count);  // the first `count` floats, kWidth at most
 *     };
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/product_rows.h"
#include "private/xnnpack_kernels.h"

#ifndef EXECUTORCH_TARGET
#error "Define EXECUTORCH_TARGET, for example __attribute__((target(\"avx2,fma\"))), before this header."
#endif

/// The compiler keeps the arrays of a tile in registers only when each loop over them is unrolled.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 16")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Product {
  size_t depth;  // k for each tap
  const float* weights;
  float* c;
  size_t row_stride, panel_stride;  // bytes
  float least, most;
  bool fetches;  // whether tiles prefetch the weights of the next panels
};

template <typename Simd>
struct Tiles {
  using Vector = typename Simd::Vector;

  /// Columns of a panel of packed weights: the biases, then the weights of each k.
  static constexpr size_t kColumns = 2 * Simd::kWidth;
  /// Rows that are multiplied by a panel of weights while it is in the cache.
  static constexpr size_t kRows = 24;
  static constexpr size_t kTileRows = 6;
  /// Smaller tiles prefetch nothing: with one or two of them a GEMM is bound by memory bandwidth anyway.
  static constexpr size_t kFewestRows = 4;
  /// The number of panels by which few rows are multiplied at once. Such GEMMs are bound by loading weights, and
  /// several streams load faster than one; a single accumulator would also be a chain of dependent additions.
  static constexpr size_t most_panels(size_t rows) {
    return std::min(Simd::kMostPanels, (kTileRows * Simd::kTilePanels) / rows);
  }
  static constexpr size_t kTilePanels = Simd::kTilePanels;

  template <size_t Vectors>
  EXECUTORCH_TARGET __attribute__((always_inline)) static void store(float* to, const Vector (&sums)[Vectors],
                                                                     size_t columns) {
    if (columns >= Vectors * Simd::kWidth) {
      EXECUTORCH_UNROLL
      for (size_t v = 0; v < Vectors; ++v) {
        Simd::store(to + v * Simd::kWidth, sums[v]);
      }
      return;
    }
    EXECUTORCH_UNROLL
    for (size_t v = 0; v < Vectors; ++v) {
      Simd::store_some(to + v * Simd::kWidth, sums[v], std::min(columns, Simd::kWidth));
      columns -= std::min(columns, Simd::kWidth);
    }
  }

  /// Multiplies `Rows` rows from `first_row` on by the first `Vectors` vectors of each of `Panels` panels.
  template <size_t Rows, size_t Panels, size_t Vectors, typename Source>
  EXECUTORCH_TARGET static void multiply_tile(const Product& product, const Source& source, size_t first_row,
                                              const float* panel, float* c, size_t columns) {
    const size_t panel_size = kColumns * (1 + source.tap_count() * product.depth);
    Vector sums[Panels][Rows][Vectors];
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < Panels; ++p) {
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        EXECUTORCH_UNROLL
        for (size_t v = 0; v < Vectors; ++v) {
          sums[p][i][v] = Simd::load(panel + p * panel_size + v * Simd::kWidth);
        }
      }
    }
    // The tiles of a whole block of kRows rows prefetch the next panels together, an equal part each.
    constexpr size_t kStep = Panels * kColumns * sizeof(float), kMostTiles = kRows / kTileRows;
    const size_t tiles_before = (first_row + kTileRows - 1) / kTileRows;
    Fetch fetch = product.fetches ? Fetch(panel + Panels * panel_size, kStep / kMostTiles,
                                          tiles_before * source.tap_count() * product.depth)
                                  : Fetch(panel, kColumns * sizeof(float), 1 + Simd::kAhead);
    panel += kColumns;
    for (size_t tap = 0; tap < source.tap_count(); ++tap) {
      const float* a[Rows];
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        a[i] = source.at(tap, first_row + i);
      }
      for (size_t k = 0; k < product.depth; ++k, panel += kColumns) {
        if constexpr (Rows >= kFewestRows) {
          fetch.step();
        }
        EXECUTORCH_UNROLL
        for (size_t p = 0; p < Panels; ++p) {
          const float* const from = panel + p * panel_size;
          Vector weights[Vectors];
          EXECUTORCH_UNROLL
          for (size_t v = 0; v < Vectors; ++v) {
            weights[v] = Simd::load(from + v * Simd::kWidth);
          }
          if constexpr (Rows < kFewestRows && Simd::kAhead > 0 && Panels <= Simd::kTilePanels) {
            __builtin_prefetch(from + Simd::kAhead * kColumns);
          }
          EXECUTORCH_UNROLL
          for (size_t i = 0; i < Rows; ++i) {
            const Vector element = Simd::broadcast(a[i] + k);
            EXECUTORCH_UNROLL
            for (size_t v = 0; v < Vectors; ++v) {
              sums[p][i][v] = Simd::multiply_add(element, weights[v], sums[p][i][v]);
            }
          }
        }
      }
    }
    const Vector least = Simd::broadcast(&product.least), most = Simd::broadcast(&product.most);
    c = plus_bytes(c, first_row * product.row_stride);
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < Panels; ++p) {
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        EXECUTORCH_UNROLL
        for (size_t v = 0; v < Vectors; ++v) {
          sums[p][i][v] = Simd::clamp(sums[p][i][v], least, most);
        }
        store(plus_bytes(c, i * product.row_stride + p * product.panel_stride), sums[p][i], columns - p * kColumns);
      }
    }
  }

  template <typename Source>
  static void multiply(size_t rows, size_t columns, const Product& product, const Source& source) {
    const size_t panel_size = kColumns * (1 + source.tap_count() * product.depth);
    for_tiles<Tiles>(rows, columns, [&](auto height, auto panels, size_t row, size_t first, size_t left) {
      const float* const panel = product.weights + first * panel_size;
      float* const c = plus_bytes(product.c, first * product.panel_stride);
      if constexpr (panels() == 1) {
        if (left <= Simd::kWidth) {
          return multiply_tile<height(), 1, 1>(product, source, row, panel, c, left);
        }
      }
      multiply_tile<height(), panels(), 2>(product, source, row, panel, c, left);
    });
  }

  static Product make_product(size_t depth_bytes, const void* w, void* c, size_t row_stride, size_t panel_stride,
                              const void* params) {
    const auto& limits = static_cast<const xnn_f32_minmax_params*>(params)->scalar;
    return {depth_bytes / sizeof(float),
            static_cast<const float*>(w),
            static_cast<float*>(c),
            row_stride,
            panel_stride,
            limits.min,
            limits.max,
            weights_are_far.load(std::memory_order_relaxed)};
  }

  /// An xnn_gemm_ukernel_fn.
  static void gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride, const void* w, void* c,
                   size_t cm_stride, size_t cn_stride, const void* params) {
    multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
             StridedRows<float>{static_cast<const float*>(a), a_stride});
  }

  /// An xnn_igemm_ukernel_fn for indirection buffers with `TableRows` pointers for each tap.
  template <size_t TableRows>
  static void igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a, const void* w, void* c,
                    size_t cm_stride, size_t cn_stride, size_t a_offset, const void* zero, const void* params) {
    multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
             indirect_rows<float, TableRows>(a, ks, a_offset, zero));
  }

  template <size_t Row>
  static void set_window_kernel(xnn_igemm_ukernel_fn& kernel) {
    if constexpr (Row < Simd::kWindowRows) {
      kernel = igemm<Row + 1>;
    }
  }

  template <size_t... Rows>
  static void set_kernels(xnn_gemm_config& config, std::index_sequence<Rows...>) {
    ((config.minmax.gemm[Rows].function[XNN_UARCH_DEFAULT] = gemm), ...);
    (set_window_kernel<Rows>(config.minmax.igemm[Rows].function[XNN_UARCH_DEFAULT]), ...);
  }

  /// Replaces XNNPACK's kernel if it is `known` with `rows` rows, so that packed weights stay the same. Operators
  /// choose a kernel by the number of rows, because XNNPACK is built with XNNPACK_ENABLE_GEMM_M_SPECIALIZATION.
  static void take_place_of(xnn_f32_gemm_minmax_ukernel_fn known, size_t rows) {
    // The configuration is a global variable of XNNPACK. The first xnn_init_f32_gemm_config() initialises it, and
    // operators read it when they are created.
    auto* config = const_cast<xnn_gemm_config*>(xnn_init_f32_gemm_config());
    if (config != nullptr && config->mr == rows &&
        config->minmax.gemm[rows - 1].function[XNN_UARCH_DEFAULT] == reinterpret_cast<xnn_gemm_ukernel_fn>(known)) {
      set_kernels(*config, std::make_index_sequence<kRows>());
      config->mr = kRows;
    }
  }
};

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
