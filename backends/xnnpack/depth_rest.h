// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's float32 GEMM and IGEMM kernels that multiply blocks of four consecutive k,
// see third_party.cmake. In the last block they load elements past the end of a row of A, which may be NaN, and skip
// them where the weight is 0, as it is in the padding. But they also skip the elements of A before the end whose weight
// is 0: infinity and NaN times 0 is NaN, not 0.
//
// With this file they decide by position: elements past the end are loaded as zeros. `k`, a variable of the kernels, is
// the number of bytes that are left; in the loop over whole blocks it is at least 16, and the compiler drops the mask.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { executorch_xnnpack_block = 4 * sizeof(float) };

/// The four masks from `executorch_xnnpack_masks + 3 - n` on keep the first n elements, n < 4.
static const uint32_t executorch_xnnpack_masks[] = {~0u, ~0u, ~0u, 0, 0, 0, 0};

static inline const uint32_t* executorch_xnnpack_mask(size_t bytes) {
  return executorch_xnnpack_masks + 3 - bytes / sizeof(float);
}

#if defined(__SSE__) || defined(__AVX__)

#include <immintrin.h>

static inline __m128 executorch_xnnpack_load(const float* from, size_t bytes) {
  const __m128 block = _mm_loadu_ps(from);
  return bytes >= executorch_xnnpack_block
             ? block
             : _mm_and_ps(block, _mm_loadu_ps((const float*)executorch_xnnpack_mask(bytes)));
}

// Also loads weights, whose padding is zero.
#define _mm_loadu_ps(from) executorch_xnnpack_load(from, k)
#define _mm_andnot_ps(weight_is_zero, elements) (elements)

#ifdef __AVX__

static inline __m256 executorch_xnnpack_broadcast(const __m128* from, size_t bytes) {
  const __m256 block = _mm256_broadcast_ps(from);
  return bytes >= executorch_xnnpack_block
             ? block
             : _mm256_and_ps(block, _mm256_broadcast_ps((const __m128*)executorch_xnnpack_mask(bytes)));
}

#define _mm256_broadcast_ps(from) executorch_xnnpack_broadcast(from, k)
#define _mm256_and_ps(elements, weight_is_not_zero) (elements)

#endif

#elif defined(__ARM_NEON)

#include <arm_neon.h>

/// Where the kernels load biases, they have no `k` yet.
static const size_t k = executorch_xnnpack_block;

/// @param name The expression for the address: those of rows of A begin with a, that of weights is w.
static inline float32x4_t executorch_xnnpack_load(const float* from, const char* name, size_t bytes) {
  const float32x4_t block = vld1q_f32(from);
  return name[0] != 'a' || bytes >= executorch_xnnpack_block
             ? block
             : vreinterpretq_f32_u32(
                   vandq_u32(vreinterpretq_u32_f32(block), vld1q_u32(executorch_xnnpack_mask(bytes))));
}

#define vld1q_f32(from) executorch_xnnpack_load(from, #from, k)
#define vbicq_u32(elements, weight_is_zero) (elements)

#endif
