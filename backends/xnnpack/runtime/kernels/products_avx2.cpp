// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/products.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#define EXECUTORCH_TARGET __attribute__((target("avx2,fma")))
#define EXECUTORCH_TARGET_INLINE EXECUTORCH_TARGET __attribute__((always_inline)) static inline

#include "kernels/product_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr size_t kWidth = 8;
  static constexpr size_t kTilePanels = 1;  // accumulators take 12 of 16 registers
  static constexpr size_t kMostPanels = 4;
  static constexpr size_t kAhead = 16;
  static constexpr size_t kWindowRows = 24;

  EXECUTORCH_TARGET_INLINE Vector load(const float* from) { return _mm256_loadu_ps(from); }
  EXECUTORCH_TARGET_INLINE Vector broadcast(const float* from) { return _mm256_broadcast_ss(from); }
  EXECUTORCH_TARGET_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
  EXECUTORCH_TARGET_INLINE Vector clamp(Vector value, Vector least, Vector most) {
    return _mm256_min_ps(most, _mm256_max_ps(least, value));
  }
  EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
  EXECUTORCH_TARGET_INLINE void store_some(float* to, Vector value, size_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes), value);
  }
};

}  // namespace

TallProduct avx2_product() {
  return {"avx2", Tiles<Avx2>::kColumns, __builtin_cpu_supports("avx2") ? Tiles<Avx2>::gemm : nullptr};
}

void expect_far_weights(bool are_far) {
  weights_are_far.store(are_far, std::memory_order_relaxed);
}

void use_avx2_products() {
  if (avx2_product().function != nullptr) {
    Tiles<Avx2>::take_place_of(xnn_f32_gemm_minmax_ukernel_5x16__fma3_broadcast, 5);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
