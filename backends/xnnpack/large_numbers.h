// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's float32 kernel for sigmoid with AVX-512, see third_party.cmake. It computes
// e^-|x| by -|x| - n ln 2, which is not small if |x| is above 2^24: from 4.5e26 on, its powers overflow and the result
// is NaN. The kernels with other instructions set e^-|x| to 0 below a limit.
//
// Here -|x| is at least -128, where e^-|x| is 0 already. The kernel calls _mm512_or_epi32() only to compute -|x|. The
// maximum adds one instruction to 16 others, but takes no time, because all of them wait for a division.
#pragma once

#include <immintrin.h>

static inline __m512i executorch_xnnpack_negative(__m512i x, __m512i sign) {
  const __m512 negative = _mm512_castsi512_ps(_mm512_or_epi32(x, sign));
  return _mm512_castps_si512(_mm512_max_ps(_mm512_set1_ps(-128.0f), negative));  // the second one if that is NaN
}

#define _mm512_or_epi32 executorch_xnnpack_negative
