// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Tiles of the products of neon_products.h. A file that includes this header instantiates them with a type like this,
 * whose functions are inlined (EXECUTORCH_INLINE):
 *
 *     struct Simd {
 *       using Element = float;
 *       using Vector = float32x4_t;
 *       static constexpr bool kPairs = ...;  // whether two vectors of each row are loaded at once
 *       static Vector load(const Element* from);
 *       static void store(Element* to, Vector value);
 *       static void store_part(Element* to, Vector value, size_t count);  // count % (elements of a vector)
 *       static Vector broadcast(Element value);
 *       static Vector clamp(Vector value, Vector least, Vector most);
 *       template <int kLane>
 *       static Vector add_products(Vector sum, Vector weights, Vector row);  // by one element of the row
 *     };
 */
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/neon_products.h"

/// The compiler keeps the arrays of accumulators in registers only if it unrolls each loop over them.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")
#define EXECUTORCH_INLINE __attribute__((always_inline)) static inline

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Loads two vectors, and leaves the address after them. Neither GCC nor Clang makes one instruction of this.
template <typename Element, typename Vector>
EXECUTORCH_INLINE const Element* load_pair(const Element* from, Vector& low, Vector& high) {
  Vector first, second;
  asm("ldp %q0, %q1, [%2], #32"
      : "=w"(first), "=w"(second), "+r"(from)
      : "m"(*reinterpret_cast<const Element(*)[2 * sizeof(Vector) / sizeof(Element)]>(from)));
  low = first;
  high = second;
  return from;
}

/// The products of kRows rows and a panel of two vectors of columns.
template <typename Simd, size_t kRows>
struct NeonTile {
  using Element = typename Simd::Element;
  using Vector = typename Simd::Vector;
  static constexpr size_t kWidth = sizeof(Vector) / sizeof(Element);

  Vector sums[kRows][2];
  const Element* weights;

  EXECUTORCH_INLINE NeonTile start(const Element* weights) {
    NeonTile tile;
    Vector low, high;
    tile.weights = load_pair(weights, low, high);
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      tile.sums[r][0] = low;
      tile.sums[r][1] = high;
    }
    return tile;
  }

  /// Adds the products of a k, of which each row has an element in a lane of its vector.
  template <int kLane>
  __attribute__((always_inline)) inline void add(const Vector (&rows)[kRows]) {
    Vector low, high;
    weights = load_pair(weights, low, high);
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      sums[r][0] = Simd::template add_products<kLane>(sums[r][0], low, rows[r]);
      sums[r][1] = Simd::template add_products<kLane>(sums[r][1], high, rows[r]);
    }
  }

  /// Adds the products of the first `count` k of a vector, from kLane on.
  template <int kLane = 0>
  __attribute__((always_inline)) inline void add_lanes(const Vector (&rows)[kRows], size_t count) {
    if constexpr (kLane < kWidth) {
      if (kLane < count) {
        add<kLane>(rows);
        add_lanes<kLane + 1>(rows, count);
      }
    }
  }

  /// Loads a vector of each row. XNNPACK's operators require that memory can be read so far past the end.
  __attribute__((always_inline)) inline void load(const Element* (&a)[kRows], Vector (&rows)[kRows]) {
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      rows[r] = Simd::load(a[r]);
      a[r] += kWidth;
    }
  }

  __attribute__((always_inline)) inline void multiply(const Element* (&a)[kRows], size_t depth) {
    Vector rows[2][kRows];
    if constexpr (Simd::kPairs) {
      for (; depth >= 2 * kWidth; depth -= 2 * kWidth) {
        EXECUTORCH_UNROLL
        for (size_t r = 0; r < kRows; ++r) {
          a[r] = load_pair(a[r], rows[0][r], rows[1][r]);
        }
        add_lanes(rows[0], kWidth);
        add_lanes(rows[1], kWidth);
      }
    }
    for (; depth >= kWidth; depth -= kWidth) {  // at most once after pairs
      load(a, rows[0]);
      add_lanes(rows[0], kWidth);
    }
    if (depth > 0) {
      load(a, rows[0]);
      add_lanes(rows[0], depth);
    }
  }

  /// Writes the first `count` results of a row.
  EXECUTORCH_INLINE void store(Element* to, Vector low, Vector high, size_t count) {
    if (count >= 2 * kWidth) {
      Simd::store(to, low);
      Simd::store(to + kWidth, high);
      return;
    }
    if (count & kWidth) {
      Simd::store(to, low);
      to += kWidth;
      low = high;
    }
    Simd::store_part(to, low, count);
  }
};

/// Rows of a matrix.
struct DirectRows {
  const char* a;
  size_t stride;

  size_t taps() const { return 1; }
  const void* row(size_t /*tap*/, size_t r) const { return a + r * stride; }
  DirectRows after(size_t rows) const { return {a + rows * stride, stride}; }
};

/// Pixels under each tap of a window.
struct IndirectRows {
  const void** a;
  size_t count;  // of taps
  size_t offset;
  const void* zero;

  size_t taps() const { return count; }
  const void* row(size_t tap, size_t r) const {
    const void* const found = a[tap * kNeonRows + r];
    return static_cast<const char*>(found) + (found == zero ? 0 : offset);
  }
  IndirectRows after(size_t rows) const { return {a + rows, count, offset, zero}; }
};

/// What is multiplied besides the rows, and where the results go.
template <typename Element>
struct NeonWork {
  size_t columns, depth;
  const Element* weights;
  char* c;
  size_t row_stride, panel_stride;
  Element limits[2];
};

template <typename Simd, size_t kRows, typename Rows>
__attribute__((noinline)) void neon_tile(const Rows& from, const NeonWork<typename Simd::Element>& work) {
  using Tile = NeonTile<Simd, kRows>;
  using Element = typename Simd::Element;
  constexpr size_t kColumns = 2 * Tile::kWidth;
  const auto least = Simd::broadcast(work.limits[0]), most = Simd::broadcast(work.limits[1]);
  const Element* weights = work.weights;
  char* c = work.c;
  for (size_t columns = work.columns;;) {
    Tile tile = Tile::start(weights);
    for (size_t tap = 0; tap < from.taps(); ++tap) {
      const Element* a[kRows];
      EXECUTORCH_UNROLL
      for (size_t r = 0; r < kRows; ++r) {
        a[r] = static_cast<const Element*>(from.row(tap, r));
      }
      tile.multiply(a, work.depth);
    }
    weights = tile.weights;
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      Tile::store(reinterpret_cast<Element*>(c + r * work.row_stride), Simd::clamp(tile.sums[r][0], least, most),
                  Simd::clamp(tile.sums[r][1], least, most), columns);
    }
    if (columns <= kColumns) {
      return;
    }
    columns -= kColumns;
    c += work.panel_stride;
  }
}

/// Multiplies kRows rows as often as there are so many, then fewer.
template <typename Simd, size_t kRows, typename Rows>
void multiply(size_t rows, Rows from, NeonWork<typename Simd::Element> work) {
  for (; rows >= kRows; rows -= kRows) {
    neon_tile<Simd, kRows>(from, work);
    from = from.after(kRows);
    work.c += kRows * work.row_stride;
  }
  if constexpr (kRows > 1) {
    multiply<Simd, (kRows > 4 ? 4 : kRows / 2)>(rows, from, work);
  }
}

/// The kernels.
template <typename Simd>
struct NeonKernels {
  using Element = typename Simd::Element;

  static NeonWork<Element> work(size_t columns, size_t depth, const void* weights, void* c, size_t row_stride,
                                size_t panel_stride, const void* params) {
    NeonWork<Element> work{columns,
                           depth / sizeof(Element),
                           static_cast<const Element*>(weights),
                           static_cast<char*>(c),
                           row_stride,
                           panel_stride,
                           {}};
    std::memcpy(work.limits, params, sizeof(work.limits));  // xnn_f32_minmax_params or xnn_f16_minmax_params
    return work;
  }

  static void gemm(size_t rows, size_t columns, size_t depth, const void* a, size_t a_stride, const void* weights,
                   void* c, size_t row_stride, size_t panel_stride, const void* limits) {
    multiply<Simd, kNeonRows>(rows, DirectRows{static_cast<const char*>(a), a_stride},
                              work(columns, depth, weights, c, row_stride, panel_stride, limits));
  }

  static void indirect(size_t rows, size_t columns, size_t depth, size_t taps_size, const void** a, const void* weights,
                       void* c, size_t row_stride, size_t panel_stride, size_t offset, const void* zero,
                       const void* limits) {
    multiply<Simd, kNeonRows>(rows, IndirectRows{a, taps_size / (kNeonRows * sizeof(void*)), offset, zero},
                              work(columns, depth, weights, c, row_stride, panel_stride, limits));
  }
};

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
