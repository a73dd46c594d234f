// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Requantises int32 accumulators to int8, with AVX2 or AVX-512.
 */
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "private/xnnpack_kernels.h"

#define EXECUTORCH_AVX2 __attribute__((target("avx2,fma")))
#define EXECUTORCH_AVX2_INLINE EXECUTORCH_AVX2 __attribute__((always_inline)) inline
#define EXECUTORCH_AVX512BW_INLINE __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl"), always_inline)) inline
#define EXECUTORCH_VNNI_TARGET target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vnni")
#define EXECUTORCH_VNNI __attribute__((EXECUTORCH_VNNI_TARGET))
#define EXECUTORCH_VNNI_LAMBDA __attribute__((EXECUTORCH_VNNI_TARGET, always_inline))
#define EXECUTORCH_VNNI_INLINE EXECUTORCH_VNNI __attribute__((always_inline)) inline

namespace executorch {
namespace backends {
namespace xnnpack {

/// Scales accumulators and rounds to nearest, ties to even, as XNNPACK does.
class IntegerResults final {
 public:
  EXECUTORCH_AVX2_INLINE explicit IntegerResults(const xnn_qs8_qc8w_conv_minmax_params& params)
      : most_(_mm256_set1_ps(static_cast<float>(params.fp32_scalar.output_max - params.fp32_scalar.output_zero_point))),
        zero_point_(_mm256_set1_epi16(params.fp32_scalar.output_zero_point)),
        least_(_mm_set1_epi8(static_cast<char>(params.fp32_scalar.output_min))) {}

  /// For sixteen accumulators.
  EXECUTORCH_AVX2_INLINE __m128i of(__m256i low, __m256i high, __m256 low_scale, __m256 high_scale) const {
    const __m256i first = scale(low, low_scale), second = scale(high, high_scale);
    const __m256i both = _mm256_adds_epi16(_mm256_packs_epi32(first, second), zero_point_);
    const __m256i ordered = _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0));
    return _mm_max_epi8(_mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)), least_);
  }

 private:
  EXECUTORCH_AVX2_INLINE __m256i scale(__m256i sums, __m256 by) const {
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), by), most_));
  }

  const __m256 most_;
  const __m256i zero_point_;
  const __m128i least_;
};

/// The same for 32 accumulators, with AVX-512.
class WideIntegerResults final {
 public:
  EXECUTORCH_AVX512BW_INLINE explicit WideIntegerResults(const xnn_qs8_qc8w_conv_minmax_params& params)
      : most_(_mm512_set1_ps(static_cast<float>(params.fp32_scalar.output_max - params.fp32_scalar.output_zero_point))),
        zero_point_(_mm512_set1_epi16(params.fp32_scalar.output_zero_point)),
        least_(_mm256_set1_epi8(static_cast<char>(params.fp32_scalar.output_min))) {}

  /// `low` and `high` have the channels in the order of the unpack instructions: of each eight channels in 128 bits,
  /// the first four are in `low`, the others in `high`.
  EXECUTORCH_AVX512BW_INLINE __m256i of(__m512i low, __m512i high, __m512 low_scale, __m512 high_scale) const {
    const __m512i words = _mm512_packs_epi32(scale(low, low_scale), scale(high, high_scale));
    return _mm256_max_epi8(_mm512_cvtsepi16_epi8(_mm512_adds_epi16(words, zero_point_)), least_);
  }

 private:
  EXECUTORCH_AVX512BW_INLINE __m512i scale(__m512i sums, __m512 by) const {
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), by), most_));
  }

  const __m512 most_;
  const __m512i zero_point_;
  const __m256i least_;
};

/// Stores the first `count` bytes, all sixteen if there are more.
EXECUTORCH_AVX2_INLINE void store_int8(int8_t* to, __m128i bytes, size_t count) {
  if (count >= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    return;
  }
  alignas(16) int8_t copy[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(copy), bytes);
  std::memcpy(to, copy, count);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
