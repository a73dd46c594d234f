// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's float32 kernels with SSE, and float16 kernels with AVX, that clamp results,
// see third_party.cmake. They call _mm_min_ps(result, limit) and _mm_max_ps(result, limit), which return the limit
// if the result is NaN: the instructions return the second operand if either is NaN. Here the operands are exchanged,
// as in XNNPACK's float32 kernels with AVX.
#pragma once

#include <immintrin.h>

static inline __m128 executorch_xnnpack_min(__m128 result, __m128 limit) {
  return _mm_min_ps(limit, result);
}

static inline __m128 executorch_xnnpack_max(__m128 result, __m128 limit) {
  return _mm_max_ps(limit, result);
}

#define _mm_min_ps executorch_xnnpack_min
#define _mm_max_ps executorch_xnnpack_max

#ifdef __AVX__

static inline __m256 executorch_xnnpack_wide_min(__m256 result, __m256 limit) {
  return _mm256_min_ps(limit, result);
}

static inline __m256 executorch_xnnpack_wide_max(__m256 result, __m256 limit) {
  return _mm256_max_ps(limit, result);
}

#define _mm256_min_ps executorch_xnnpack_wide_min
#define _mm256_max_ps executorch_xnnpack_wide_max

#endif
