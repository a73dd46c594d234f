// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/depthwise.h"

// On Android XNNPACK uses its kernels for AVX2.
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) && !defined(__ANDROID__)

#define XNN_ENABLE_AVX512F 1  // XNNPACK is built with it, and its header declares the kernels only if it is defined

#include <immintrin.h>

#define EXECUTORCH_TARGET __attribute__((target("avx512f")))
#define EXECUTORCH_TARGET_INLINE EXECUTORCH_TARGET __attribute__((always_inline)) inline

#include "kernels/depthwise_tiles.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Avx512 {
  using Element = float;
  using Vector = __m512;
  static constexpr size_t kWidth = 16;
  static constexpr size_t kVectors = 2;  // their weights fit in registers, and adjacent cache lines load faster
  static constexpr bool kUnrolls = false;

  struct Whole {
    constexpr explicit Whole(size_t /*count*/) {}
    EXECUTORCH_TARGET_INLINE Vector load(const float* from) const { return _mm512_loadu_ps(from); }
    EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) const { _mm512_storeu_ps(to, value); }
  };

  struct Part {
    explicit Part(size_t count) : mask(static_cast<__mmask16>((1u << count) - 1)) {}
    EXECUTORCH_TARGET_INLINE Vector load(const float* from) const { return _mm512_maskz_loadu_ps(mask, from); }
    EXECUTORCH_TARGET_INLINE void store(float* to, Vector value) const { _mm512_mask_storeu_ps(to, mask, value); }
    __mmask16 mask;
  };

  EXECUTORCH_TARGET_INLINE static Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm512_fmadd_ps(a, b, sum);
  }
  EXECUTORCH_TARGET_INLINE static Vector clamp(Vector value, Vector least, Vector most) {
    // GCC 12 warns about its own header for intrinsics without a mask.
    return _mm512_maskz_min_ps(0xFFFF, most, _mm512_maskz_max_ps(0xFFFF, least, value));
  }
  EXECUTORCH_TARGET_INLINE static Vector broadcast(float value) { return _mm512_set1_ps(value); }
};

}  // namespace

void add_avx512_depthwise(std::vector<DepthwiseKernel>& kernels) {
  if (__builtin_cpu_supports("avx512f")) {
    kernels.push_back({"avx512f", Elements::Float32, 9, Avx512::kWidth,
                       reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f),
                       Depthwise<Avx512, 3, Avx512::kWidth>::kernel});
    kernels.push_back({"avx512f", Elements::Float32, 25, Avx512::kWidth,
                       reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_25p16c__avx512f),
                       Depthwise<Avx512, 5, Avx512::kWidth>::kernel});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
