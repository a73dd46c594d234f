// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices, and convolutions, in float32 and in float16, for 64-bit Arm.
#pragma once

#include <cstddef>
#include <vector>

#if defined(__aarch64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_NEON_PRODUCTS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_NEON_PRODUCTS

constexpr size_t kNeonRows = 6, kFloatColumns = 8, kHalfColumns = 16;

/// The signatures that XNNPACK's operators call. Up to kNeonRows rows are multiplied by weights in panels of
/// kFloatColumns or kHalfColumns columns. The second has a row for each tap of a window, by pointers to kNeonRows
/// pixels at a time; `offset` is added to each pointer except `zero`, the padding. Sizes and strides are in bytes.
using NeonGemm = void (*)(size_t rows, size_t columns, size_t depth, const void* a, size_t a_stride,
                          const void* weights, void* c, size_t row_stride, size_t panel_stride, const void* limits);
using NeonIndirectGemm = void (*)(size_t rows, size_t columns, size_t depth, size_t taps_size, const void** a,
                                  const void* weights, void* c, size_t row_stride, size_t panel_stride, size_t offset,
                                  const void* zero, const void* limits);

/// A product of matrices and a convolution of the same type.
struct NeonProducts {
  const char* name;
  NeonGemm gemm;
  NeonIndirectGemm indirect;
};

/// Kernels of ours, which load eight elements of a row with one instruction, and compute only the rows that there are.
NeonProducts float_products();
NeonProducts half_products();

/// XNNPACK's kernels that they replace: those for the Cortex-A76 and later ones. They load four elements of a row at a
/// time, and always compute kNeonRows rows. Their results are bitwise equal to ours.
std::vector<NeonProducts> replaced_float_products();
std::vector<NeonProducts> replaced_half_products();

/// Makes XNNPACK's operators use our kernels; those for float16 if the processor has float16 arithmetic.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
void use_neon_products();

#else

inline void use_neon_products() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
