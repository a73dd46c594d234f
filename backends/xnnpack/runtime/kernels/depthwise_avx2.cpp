// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/depthwise.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#define EXECUTORCH_TARGET __attribute__((target("avx2,fma")))
#define EXECUTORCH_TARGET_INLINE EXECUTORCH_TARGET __attribute__((always_inline)) inline

#include "kernels/depthwise_tiles.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Avx2 {
  using Element = float;
  using Vector = __m256;
  static constexpr size_t kWidth = 8;
  /// Registers hold the weights of one vector only, so with two vectors, weights are loaded again for each pixel.
  /// Two are faster all the same, because they are a whole cache line.
  static constexpr size_t kVectors = 2;
  static constexpr bool kUnrolls = false;

  struct Whole {
    constexpr explicit Whole(size_t /*count*/) {}
    EXECUTORCH_TARGET_INLINE Vector load(const float* from) const { return _mm256_loadu_ps(from); }
    EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) const { _mm256_storeu_ps(to, value); }
  };

  struct Part {
    EXECUTORCH_TARGET explicit Part(size_t count)
        : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
    EXECUTORCH_TARGET_INLINE Vector load(const float* from) const { return _mm256_maskload_ps(from, mask); }
    EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) const { _mm256_maskstore_ps(to, mask, value); }
    __m256i mask;
  };

  EXECUTORCH_TARGET_INLINE static Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm256_fmadd_ps(a, b, sum);
  }
  EXECUTORCH_TARGET_INLINE static Vector clamp(Vector value, Vector least, Vector most) {
    return _mm256_min_ps(most, _mm256_max_ps(least, value));
  }
  EXECUTORCH_TARGET_INLINE static Vector broadcast(float value) { return _mm256_set1_ps(value); }
};

}  // namespace

void add_avx2_depthwise(std::vector<DepthwiseKernel>& kernels) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back({"avx2", Elements::Float32, 9, 16,
                       reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_9p16c__fma3),
                       Depthwise<Avx2, 3, 16>::kernel});
    kernels.push_back({"avx2", Elements::Float32, 25, 8,
                       reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_25p8c__fma3),
                       Depthwise<Avx2, 5, 8>::kernel});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
