// SPDX-License-Identifier: BSD-3-Clause
// GEMM for x86: float32 with AVX2 or AVX-512, int8 with AVX2 or with AVX-512 and VNNI.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_X86_KERNELS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

/// A GEMM kernel for up to 24 rows and panels of `columns` packed weights, with the signature that XNNPACK calls.
struct TallProduct {
  const char* instructions;
  size_t columns;
  /// Null if the processor lacks these instructions.
  void (*function)(size_t rows, size_t columns, size_t depth_bytes, const void* a, size_t a_stride, const void* weights,
                   void* c, size_t row_stride, size_t panel_stride, const void* limits);
};

TallProduct avx2_product();
TallProduct avx512_product();

void use_avx2_products();
void use_avx512_products();

/// Makes XNNPACK's operators use GEMM kernels for up to 24 rows instead of five or seven, on CPUs where it would use
/// its kernels for AVX2 or AVX-512. The packed weights are the same, and the results are bitwise equal.
///
/// A GEMM loads all weights for each tile of rows, so tiles of 24 rows load them a fifth as often as tiles of five.
/// They also avoid tiles that are mostly empty: with five rows, a batch of eleven costs as much as one of fifteen. With
/// few rows, the kernels multiply by several panels of weights at a time.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
inline void use_tall_products() {
  use_avx2_products();
#if !defined(__ANDROID__)
  use_avx512_products();
#endif
}

void use_avx2_integer_products();
void use_vnni_integer_products();

/// Makes XNNPACK's int8 operators with per-channel scales (convolutions, linear layers) use our GEMM kernels, on CPUs
/// where it would use its kernels for AVX2, or for AVX-512 with VNNI. The results are bitwise equal; the weights are
/// packed in panels of sixteen columns, with two or four consecutive k.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
inline void use_integer_products() {
  use_avx2_integer_products();
#if !defined(__ANDROID__)
  use_vnni_integer_products();
#endif
}

/// Sets whether the weights of the next operators have probably left the caches since the last execution. Tiles then
/// prefetch the next panels: GEMMs of 64 rows take 0.8 of the time if their weights come from memory, and 1.02 if the
/// weights are in the caches.
void expect_far_weights(bool are_far);

#else

inline void use_tall_products() {}
inline void use_integer_products() {}
inline void expect_far_weights(bool) {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
