// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/products.h"

// On Android XNNPACK uses its kernels for AVX2.
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) && !defined(__ANDROID__)

#include <immintrin.h>

#define EXECUTORCH_TARGET __attribute__((target("avx512f")))
#define EXECUTORCH_TARGET_INLINE EXECUTORCH_TARGET __attribute__((always_inline)) static inline

#include "kernels/product_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr size_t kWidth = 16;
  static constexpr size_t kTilePanels = 2;  // accumulators take 24 of 32 registers
  static constexpr size_t kMostPanels = 2;
  static constexpr size_t kAhead = 0;
  /// For seven rows, XNNPACK's IGEMM kernel is as fast, and faster for pixels of few channels. It is kept for whole
  /// tiles only, because an image of two to six pixels would cost as much as one of seven.
  static constexpr size_t kWindowRows = 6;

  EXECUTORCH_TARGET_INLINE Vector load(const float* from) { return _mm512_loadu_ps(from); }
  EXECUTORCH_TARGET_INLINE Vector broadcast(const float* from) { return _mm512_set1_ps(*from); }
  EXECUTORCH_TARGET_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
  EXECUTORCH_TARGET_INLINE Vector clamp(Vector value, Vector least, Vector most) {
    // GCC 12 warns about its own header for intrinsics without a mask.
    return _mm512_maskz_min_ps(0xFFFF, most, _mm512_maskz_max_ps(0xFFFF, least, value));
  }
  EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
  EXECUTORCH_TARGET_INLINE void store_some(float* to, Vector value, size_t count) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), value);
  }
};

}  // namespace

TallProduct avx512_product() {
  return {"avx512f", Tiles<Avx512>::kColumns, __builtin_cpu_supports("avx512f") ? Tiles<Avx512>::gemm : nullptr};
}

void use_avx512_products() {
  if (avx512_product().function != nullptr) {
    Tiles<Avx512>::take_place_of(xnn_f32_gemm_minmax_ukernel_7x32__avx512f_broadcast, 7);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
