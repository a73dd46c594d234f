// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/row_products.h"

#ifdef EXECUTORCH_XNNPACK_ROW_PRODUCTS

#define XNN_ENABLE_ASSEMBLY 1  // XNNPACK is built with it, and its header declares the kernels only if it is defined

#include <arm_neon.h>

#include <algorithm>

#include "private/xnnpack_kernels.h"

/// The compiler keeps the arrays of accumulators in registers only if it unrolls each loop over them.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")
#define EXECUTORCH_INLINE __attribute__((always_inline)) static inline

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr size_t kColumns = 8;  // of a panel
constexpr size_t kWidth = 4;    // floats of a vector
constexpr size_t kVectors = kColumns / kWidth;

/// Loads the weights of one k, and advances the address to those of the next k. Neither GCC nor Clang compiles this to
/// one instruction.
EXECUTORCH_INLINE const float* load_row(const float* from, float32x4_t& low, float32x4_t& high) {
  float32x4_t first, second;
  asm("ldp %q0, %q1, [%2], #32"
      : "=w"(first), "=w"(second), "+r"(from)
      : "m"(*reinterpret_cast<const float(*)[kColumns]>(from)));
  low = first;
  high = second;
  return from;
}

/// Multiplies a row by kPanels panels. Product k goes to part k % kParts, and the parts are added up at the end. Four
/// parts are reduced to two before the last k, of which there are fewer than four.
template <size_t kPanels, size_t kParts>
struct RowTile {
  float32x4_t sums[kParts][kPanels][kVectors];
  const float* panels[kPanels];

  EXECUTORCH_INLINE RowTile start(const float* weights, size_t panel_size) {
    RowTile tile;
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < kPanels; ++p) {
      tile.panels[p] = weights + p * panel_size;
      EXECUTORCH_UNROLL
      for (size_t v = 0; v < kVectors; ++v) {
        tile.sums[0][p][v] = vld1q_f32(tile.panels[p] + v * kWidth);
        EXECUTORCH_UNROLL
        for (size_t part = 1; part < kParts; ++part) {
          tile.sums[part][p][v] = vdupq_n_f32(0.0f);
        }
      }
      tile.panels[p] += kColumns;
    }
    return tile;
  }

  /// Adds the products of an element of the row and the weights of the next k to a part.
  template <size_t kPart, typename Multiply>
  __attribute__((always_inline)) inline void add(const Multiply& multiply) {
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < kPanels; ++p) {
      float32x4_t low, high;
      panels[p] = load_row(panels[p], low, high);
      sums[kPart][p][0] = multiply(sums[kPart][p][0], low);
      sums[kPart][p][1] = multiply(sums[kPart][p][1], high);
    }
  }

  __attribute__((always_inline)) inline void add_four(const float* a) {
    const float32x4_t x = vld1q_f32(a);
    add<0>([x](float32x4_t sum, float32x4_t row) { return vfmaq_laneq_f32(sum, row, x, 0); });
    add<1>([x](float32x4_t sum, float32x4_t row) { return vfmaq_laneq_f32(sum, row, x, 1); });
    add<2 % kParts>([x](float32x4_t sum, float32x4_t row) { return vfmaq_laneq_f32(sum, row, x, 2); });
    add<3 % kParts>([x](float32x4_t sum, float32x4_t row) { return vfmaq_laneq_f32(sum, row, x, 3); });
  }

  /// Adds the parts from `from` on to those before them.
  __attribute__((always_inline)) inline void join(size_t from) {
    EXECUTORCH_UNROLL
    for (size_t part = 0; part < kParts; ++part) {
      if (part >= from && part < 2 * from) {
        EXECUTORCH_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
          EXECUTORCH_UNROLL
          for (size_t v = 0; v < kVectors; ++v) {
            sums[part - from][p][v] = vaddq_f32(sums[part - from][p][v], sums[part][p][v]);
          }
        }
      }
    }
  }

  __attribute__((always_inline)) inline void multiply(const float* a, size_t depth) {
    for (; depth >= 4; depth -= 4) {
      add_four(a);
      a += 4;
    }
    if constexpr (kParts == 4) {
      join(2);
    }
    if (depth & 2) {
      const float32x2_t x = vld1_f32(a);
      add<0>([x](float32x4_t sum, float32x4_t row) { return vfmaq_lane_f32(sum, row, x, 0); });
      add<1>([x](float32x4_t sum, float32x4_t row) { return vfmaq_lane_f32(sum, row, x, 1); });
      a += 2;
    }
    if (depth & 1) {
      const float x = *a;
      add<0>([x](float32x4_t sum, float32x4_t row) { return vfmaq_n_f32(sum, row, x); });
    }
    join(1);
  }
};

/// Writes up to kColumns results.
EXECUTORCH_INLINE void store(float* to, float32x4_t low, float32x4_t high, size_t count) {
  if (count >= kColumns) {
    vst1q_f32(to, low);
    vst1q_f32(to + kWidth, high);
    return;
  }
  if (count & 4) {
    vst1q_f32(to, low);
    to += kWidth;
    low = high;
  }
  float32x2_t rest = vget_low_f32(low);
  if (count & 2) {
    vst1_f32(to, rest);
    to += 2;
    rest = vget_high_f32(low);
  }
  if (count & 1) {
    vst1_lane_f32(to, rest, 0);
  }
}

struct Row {
  const float* a;
  size_t depth;
  float least, most;
};

/// Multiplies by kPanels panels; `columns` may be fewer than they have.
template <size_t kPanels, size_t kParts>
__attribute__((noinline)) void multiply_row(const Row& row, const float* weights, size_t panel_size, char* c,
                                            size_t panel_stride, size_t columns) {
  auto tile = RowTile<kPanels, kParts>::start(weights, panel_size);
  tile.multiply(row.a, row.depth);
  const float32x4_t least = vdupq_n_f32(row.least), most = vdupq_n_f32(row.most);
  EXECUTORCH_UNROLL
  for (size_t p = 0; p < kPanels; ++p) {
    const float32x4_t low = vminq_f32(vmaxq_f32(tile.sums[0][p][0], least), most);
    const float32x4_t high = vminq_f32(vmaxq_f32(tile.sums[0][p][1], least), most);
    store(reinterpret_cast<float*>(c + p * panel_stride), low, high, std::min(columns - p * kColumns, kColumns));
  }
}

template <size_t kParts>
struct RowKernel {
  static constexpr size_t kMostPanels = 8 / kParts;  // 16 accumulators

  static void gemm(size_t /*rows*/, size_t columns, size_t depth_bytes, const void* a, size_t /*a_stride*/,
                   const void* weights, void* c, size_t /*row_stride*/, size_t panel_stride, const void* params) {
    const auto& limits = static_cast<const xnn_f32_minmax_params*>(params)->scalar;
    const size_t depth = depth_bytes / sizeof(float);
    multiply<kMostPanels>({static_cast<const float*>(a), depth, limits.min, limits.max},
                          static_cast<const float*>(weights), static_cast<char*>(c), panel_stride, columns);
  }

  /// Multiplies by kPanels panels at a time, and by the remaining ones at the end.
  template <size_t kPanels>
  static void multiply(const Row& row, const float* weights, char* c, size_t panel_stride, size_t columns) {
    const size_t panel_size = (1 + row.depth) * kColumns;
    while (columns > (kPanels - 1) * kColumns) {
      multiply_row<kPanels, kParts>(row, weights, panel_size, c, panel_stride, columns);
      if (columns <= kPanels * kColumns) {
        return;
      }
      columns -= kPanels * kColumns;
      weights += kPanels * panel_size;
      c += kPanels * panel_stride;
    }
    if constexpr (kPanels > 1) {
      multiply<kPanels / 2>(row, weights, c, panel_stride, columns);
    }
  }
};

template <size_t kParts>
RowProduct replacing(const char* name, xnn_f32_gemm_minmax_ukernel_fn theirs) {
  return {name, reinterpret_cast<RowFunction>(theirs), RowKernel<kParts>::gemm};
}

}  // namespace

std::vector<RowProduct> row_products() {
  return {
      replacing<4>("ld128_acc4", xnn_f32_gemm_minmax_ukernel_1x8__asm_aarch64_neonfma_ld128_acc4),
#ifdef __linux__  // elsewhere XNNPACK does not detect the kind of Cortex
      replacing<2>("ld128_acc2", xnn_f32_gemm_minmax_ukernel_1x8__asm_aarch64_neonfma_ld128_acc2),
      replacing<2>("cortex_a75", xnn_f32_gemm_minmax_ukernel_1x8__asm_aarch64_neonfma_cortex_a75),
      replacing<2>("cortex_a75_prfm", xnn_f32_gemm_minmax_ukernel_1x8__asm_aarch64_neonfma_cortex_a75_prfm),
#endif
  };
}

void use_row_products() {
  // The configuration is a global variable of XNNPACK. The first xnn_init_f32_gemm_config() initialises it, and
  // operators read it when they are created.
  auto* config = const_cast<xnn_gemm_config*>(xnn_init_f32_gemm_config());
  if (config == nullptr || config->nr != kColumns) {
    return;
  }
  for (auto& function : config->minmax.gemm[0].function) {  // one for each kind of core
    for (const RowProduct& product : row_products()) {
      if (function == reinterpret_cast<xnn_gemm_ukernel_fn>(product.theirs)) {
        function = reinterpret_cast<xnn_gemm_ukernel_fn>(product.function);
      }
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
