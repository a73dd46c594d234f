// SPDX-License-Identifier: BSD-3-Clause
// Products of float16 matrices, and convolutions in float16, for 64-bit Arm.
#pragma once

#include <cstddef>

#if defined(__aarch64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_HALF_PRODUCTS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_HALF_PRODUCTS

/// The signatures that XNNPACK's operators call. Up to kHalfRows rows are multiplied by weights in panels of
/// kHalfColumns columns. The second has a row for each tap of a window, by pointers to kHalfRows pixels at a time;
/// `offset` is added to each pointer except `zero`, the padding. Sizes and strides are in bytes.
using HalfGemm = void (*)(size_t rows, size_t columns, size_t depth, const void* a, size_t a_stride,
                          const void* weights, void* c, size_t row_stride, size_t panel_stride, const void* limits);
using HalfIndirectGemm = void (*)(size_t rows, size_t columns, size_t depth, size_t taps_size, const void** a,
                                  const void* weights, void* c, size_t row_stride, size_t panel_stride, size_t offset,
                                  const void* zero, const void* limits);

constexpr size_t kHalfRows = 6, kHalfColumns = 16;

/// Kernels of ours that replace two of XNNPACK's, which load four elements of a row at a time: these load eight, and
/// compute only the rows that there are. Their results are bitwise equal.
void half_gemm(size_t rows, size_t columns, size_t depth, const void* a, size_t a_stride, const void* weights, void* c,
               size_t row_stride, size_t panel_stride, const void* limits);
void half_indirect_gemm(size_t rows, size_t columns, size_t depth, size_t taps_size, const void** a,
                        const void* weights, void* c, size_t row_stride, size_t panel_stride, size_t offset,
                        const void* zero, const void* limits);
/// Those that they replace: XNNPACK's for the Cortex-A76 and later ones.
HalfGemm replaced_half_gemm();
HalfIndirectGemm replaced_half_indirect_gemm();

/// Makes XNNPACK's operators use these kernels, if the processor has float16 arithmetic.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
void use_half_products();

#else

inline void use_half_products() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
