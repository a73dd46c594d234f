// SPDX-License-Identifier: BSD-3-Clause
// The build compiles this file for Armv8.2 with float16 arithmetic.
#include "kernels/half_products.h"

#ifdef EXECUTORCH_XNNPACK_HALF_PRODUCTS

#ifndef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#error "Compile this file for float16 arithmetic, with -march=armv8.2-a+fp16."
#endif

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

/// The compiler keeps the arrays of accumulators in registers only if it unrolls each loop over them.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")
#define EXECUTORCH_INLINE __attribute__((always_inline)) static inline

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr size_t kWidth = 8;  // elements of a vector
constexpr size_t kVectors = kHalfColumns / kWidth;

/// Loads the weights of a k, and leaves the address of those of the next one. Neither GCC nor Clang makes one
/// instruction of this.
EXECUTORCH_INLINE const float16_t* load_row(const float16_t* from, float16x8_t& low, float16x8_t& high) {
  float16x8_t first, second;
  asm("ldp %q0, %q1, [%2], #32"
      : "=w"(first), "=w"(second), "+r"(from)
      : "m"(*reinterpret_cast<const float16_t(*)[kHalfColumns]>(from)));
  low = first;
  high = second;
  return from;
}

/// Adds the products of weights and the lane of a row. For the intrinsic, GCC copies the lane to a vector first.
template <int kLane>
EXECUTORCH_INLINE float16x8_t add_products(float16x8_t sum, float16x8_t weights, float16x8_t row) {
  asm("fmla %0.8h, %1.8h, %2.h[%c3]" : "+w"(sum) : "w"(weights), "x"(row), "i"(kLane));  // x: registers 0 to 15
  return sum;
}

/// The products of kRows rows and a panel.
template <size_t kRows>
struct HalfTile {
  float16x8_t sums[kRows][kVectors];
  const float16_t* weights;

  EXECUTORCH_INLINE HalfTile start(const float16_t* weights) {
    HalfTile tile;
    float16x8_t low, high;
    tile.weights = load_row(weights, low, high);
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      tile.sums[r][0] = low;
      tile.sums[r][1] = high;
    }
    return tile;
  }

  /// Adds the products of a k, of which each row has an element in a lane of its vector.
  template <int kLane>
  __attribute__((always_inline)) inline void add(const float16x8_t (&rows)[kRows]) {
    float16x8_t low, high;
    weights = load_row(weights, low, high);
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      sums[r][0] = add_products<kLane>(sums[r][0], low, rows[r]);
      sums[r][1] = add_products<kLane>(sums[r][1], high, rows[r]);
    }
  }

  /// Adds the products of the first `count` k of eight, from kLane on.
  template <int kLane = 0>
  __attribute__((always_inline)) inline void add_lanes(const float16x8_t (&rows)[kRows], size_t count) {
    if constexpr (kLane < kWidth) {
      if (kLane < count) {
        add<kLane>(rows);
        add_lanes<kLane + 1>(rows, count);
      }
    }
  }

  /// Loads eight elements of each row. XNNPACK's operators require that memory can be read so far past the end.
  __attribute__((always_inline)) inline void load(const float16_t* (&a)[kRows], float16x8_t (&rows)[kRows]) {
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      rows[r] = vld1q_f16(a[r]);
      a[r] += kWidth;
    }
  }

  __attribute__((always_inline)) inline void multiply(const float16_t* (&a)[kRows], size_t depth) {
    float16x8_t rows[kRows];
    for (; depth >= kWidth; depth -= kWidth) {
      load(a, rows);
      add_lanes(rows, kWidth);
    }
    if (depth > 0) {
      load(a, rows);
      add_lanes(rows, depth);
    }
  }
};

/// Writes up to kHalfColumns results.
EXECUTORCH_INLINE void store(float16_t* to, float16x8_t low, float16x8_t high, size_t count) {
  if (count >= kHalfColumns) {
    vst1q_f16(to, low);
    vst1q_f16(to + kWidth, high);
    return;
  }
  if (count & 8) {
    vst1q_f16(to, low);
    to += kWidth;
    low = high;
  }
  float16x4_t rest = vget_low_f16(low);
  if (count & 4) {
    vst1_f16(to, rest);
    to += 4;
    rest = vget_high_f16(low);
  }
  if (count & 2) {
    vst1_lane_f16(to, rest, 0);
    vst1_lane_f16(to + 1, rest, 1);
    to += 2;
    rest = vext_f16(rest, rest, 2);
  }
  if (count & 1) {
    vst1_lane_f16(to, rest, 0);
  }
}

/// Rows of a matrix.
struct DirectRows {
  static constexpr size_t kTaps = 1;
  const char* a;
  size_t stride;

  size_t taps() const { return kTaps; }
  const float16_t* row(size_t /*tap*/, size_t r) const { return reinterpret_cast<const float16_t*>(a + r * stride); }
  DirectRows after(size_t rows) const { return {a + rows * stride, stride}; }
};

/// Pixels under each tap of a window.
struct IndirectRows {
  const void** a;
  size_t count;  // of taps
  size_t offset;
  const void* zero;

  size_t taps() const { return count; }
  const float16_t* row(size_t tap, size_t r) const {
    const void* const found = a[tap * kHalfRows + r];
    return reinterpret_cast<const float16_t*>(static_cast<const char*>(found) + (found == zero ? 0 : offset));
  }
  IndirectRows after(size_t rows) const { return {a + rows, count, offset, zero}; }
};

/// What is multiplied besides the rows, and where the results go.
struct Work {
  size_t columns, depth;
  const float16_t* weights;
  char* c;
  size_t row_stride, panel_stride;
  float16_t least, most;
};

template <size_t kRows, typename Rows>
__attribute__((noinline)) void half_tile(const Rows& from, const Work& work) {
  const float16x8_t least = vdupq_n_f16(work.least), most = vdupq_n_f16(work.most);
  const float16_t* weights = work.weights;
  char* c = work.c;
  for (size_t columns = work.columns;;) {
    auto tile = HalfTile<kRows>::start(weights);
    for (size_t tap = 0; tap < from.taps(); ++tap) {
      const float16_t* a[kRows];
      EXECUTORCH_UNROLL
      for (size_t r = 0; r < kRows; ++r) {
        a[r] = from.row(tap, r);
      }
      tile.multiply(a, work.depth);
    }
    weights = tile.weights;
    EXECUTORCH_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const float16x8_t low = vminq_f16(vmaxq_f16(tile.sums[r][0], least), most);
      const float16x8_t high = vminq_f16(vmaxq_f16(tile.sums[r][1], least), most);
      store(reinterpret_cast<float16_t*>(c + r * work.row_stride), low, high, columns);
    }
    if (columns <= kHalfColumns) {
      return;
    }
    columns -= kHalfColumns;
    c += work.panel_stride;
  }
}

/// Multiplies kRows rows as often as there are so many, then fewer.
template <size_t kRows, typename Rows>
void multiply(size_t rows, Rows from, Work work) {
  for (; rows >= kRows; rows -= kRows) {
    half_tile<kRows>(from, work);
    from = from.after(kRows);
    work.c += kRows * work.row_stride;
  }
  if constexpr (kRows > 1) {
    multiply<(kRows > 4 ? 4 : kRows / 2)>(rows, from, work);
  }
}

Work work_of(size_t columns, size_t depth, const void* weights, void* c, size_t row_stride, size_t panel_stride,
             const void* params) {
  float16_t limits[2];
  std::memcpy(limits, params, sizeof(limits));  // xnn_f16_minmax_params
  return {columns,
          depth / sizeof(float16_t),
          static_cast<const float16_t*>(weights),
          static_cast<char*>(c),
          row_stride,
          panel_stride,
          limits[0],
          limits[1]};
}

}  // namespace

void half_gemm(size_t rows, size_t columns, size_t depth, const void* a, size_t a_stride, const void* weights, void* c,
               size_t row_stride, size_t panel_stride, const void* limits) {
  multiply<kHalfRows>(rows, DirectRows{static_cast<const char*>(a), a_stride},
                      work_of(columns, depth, weights, c, row_stride, panel_stride, limits));
}

void half_indirect_gemm(size_t rows, size_t columns, size_t depth, size_t taps_size, const void** a,
                        const void* weights, void* c, size_t row_stride, size_t panel_stride, size_t offset,
                        const void* zero, const void* limits) {
  multiply<kHalfRows>(rows, IndirectRows{a, taps_size / (kHalfRows * sizeof(void*)), offset, zero},
                      work_of(columns, depth, weights, c, row_stride, panel_stride, limits));
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
