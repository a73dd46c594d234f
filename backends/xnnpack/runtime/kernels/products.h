// SPDX-License-Identifier: BSD-3-Clause
// Matrix products for x86: of float32 with AVX2 or AVX-512, of int8 with AVX2 or AVX-512 and VNNI.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_X86_KERNELS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

/// A product of up to 24 rows with panels of `columns` packed weights each, of the form that XNNPACK's operators call.
struct TallProduct {
  const char* instructions;
  size_t columns;
  /// Null where the processor has not these instructions.
  void (*function)(size_t rows, size_t columns, size_t depth_bytes, const void* a, size_t a_stride, const void* weights,
                   void* c, size_t row_stride, size_t panel_stride, const void* limits);
};

TallProduct avx2_product();
TallProduct avx512_product();

void use_avx2_products();
void use_avx512_products();

/// Gives XNNPACK's operators products whose tiles have up to 24 rows in place of five or seven, on CPUs where it would
/// take its kernels for AVX2 or AVX-512; elsewhere nothing changes. The weights stay packed as they are, and the sums
/// are the same bits.
///
/// XNNPACK runs through all the weights for each tile of rows. With 24 rows these are read a fifth as often, and once
/// for a batch of up to 24, where five rows and five rows and one cost as much as fifteen. Few rows pass by several
/// panels of weights at a time.
///
/// To be called after xnn_initialize() and before the first operator is made, by one thread.
inline void use_tall_products() {
  use_avx2_products();
#if !defined(__ANDROID__)
  use_avx512_products();
#endif
}

void use_avx2_integer_products();
void use_vnni_integer_products();

/// Gives XNNPACK's operators on int8 with a scale for each channel (convolutions, linear layers) products of ours, on
/// CPUs where it would take its kernels for AVX2, or for AVX-512 with VNNI; elsewhere nothing changes. The results are
/// the same bits; the weights are packed in panels of sixteen columns and pairs or fours of elements.
///
/// To be called as use_tall_products().
inline void use_integer_products() {
  use_avx2_integer_products();
#if !defined(__ANDROID__)
  use_vnni_integer_products();
#endif
}

/// Whether products of the next operators read weights that have left the caches since the last execution: then tiles
/// bring the next panels while they pass by some. Products on 64 rows whose weights come from memory take 0.8 of the
/// time so, those whose weights the caches hold 1.02.
void expect_far_weights(bool are_far);

#else

inline void use_tall_products() {}
inline void use_integer_products() {}
inline void expect_far_weights(bool) {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
