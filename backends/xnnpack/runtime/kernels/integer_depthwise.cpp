// SPDX-License-Identifier: BSD-3-Clause
// Depthwise int8 convolutions for processors with AVX2 but without dot product instructions. XNNPACK's kernel widens
// elements and weights to int32, so that it needs two instructions for eight products, and widens the weights again for
// each pixel. Here one instruction multiplies and adds pairs of int16 of two taps, and weights are widened once for up
// to kPlaces pixels.
#include "kernels/depthwise.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/depthwise_rows.h"
#include "kernels/integer_results.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Channels of a block of packed weights: 16 biases, then for each tap 16 weights, then 16 scales.
constexpr size_t kChannels = 16;

/// Reads exactly `count` bytes.
EXECUTORCH_AVX2_INLINE __m128i load_int8(const int8_t* from, size_t count) {
  if (count >= kChannels) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  alignas(16) int8_t copy[kChannels] = {};
  std::memcpy(copy, from, count);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(copy));
}

/// Pairs of int16 from two taps, for the first eight channels and for the last eight.
struct Pairs {
  __m256i low, high;
};

EXECUTORCH_AVX2_INLINE Pairs pair(__m128i first, __m128i second) {
  return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second)),
          _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second))};
}

/// Computes one pixel for `count` channels from `channel` on.
template <size_t Window>
EXECUTORCH_AVX2_INLINE __m128i convolve(const Column<int8_t, Window>* columns, size_t channel, size_t count,
                                        const Pairs* weights, Pairs sums, __m256 low_scale, __m256 high_scale,
                                        const IntegerResults& results) {
  constexpr size_t kTaps = Window * Window;
  const auto load = [&](size_t tap) __attribute__((target("avx2,fma"), always_inline)) {
    return load_int8(columns[tap / Window].rows[tap % Window] + channel, count);
  };
#pragma GCC unroll 16
  for (size_t tap = 0; tap < kTaps; tap += 2) {
    const Pairs elements = pair(load(tap), tap + 1 < kTaps ? load(tap + 1) : _mm_setzero_si128());
    sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(elements.low, weights[tap / 2].low));
    sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(elements.high, weights[tap / 2].high));
  }
  return results.of(sums.low, sums.high, low_scale, high_scale);
}

/// Computes all channels of `places` pixels.
template <size_t Window, size_t Step>
EXECUTORCH_AVX2 void convolve_places(const Column<int8_t, Window>* columns, size_t places, size_t channels,
                                     const int8_t* block, int8_t* output, size_t row_stride, const void* params) {
  constexpr size_t kTaps = Window * Window;
  const IntegerResults results(*static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params));
  for (size_t channel = 0; channel < channels; channel += kChannels) {
    const size_t count = std::min(kChannels, channels - channel);
    const Pairs bias = {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32))};
    block += kChannels * sizeof(int32_t);
    Pairs weights[(kTaps + 1) / 2];
    for (size_t tap = 0; tap < kTaps; tap += 2) {
      const auto* taps = reinterpret_cast<const __m128i*>(block + tap * kChannels);
      weights[tap / 2] = pair(_mm_loadu_si128(taps), tap + 1 < kTaps ? _mm_loadu_si128(taps + 1) : _mm_setzero_si128());
    }
    block += kTaps * kChannels;
    const auto* scales = reinterpret_cast<const float*>(block);
    const __m256 low_scale = _mm256_loadu_ps(scales), high_scale = _mm256_loadu_ps(scales + 8);
    block += kChannels * sizeof(float);
    int8_t* to = output + channel;
    if (count == kChannels) {
      for (size_t x = 0; x < places; ++x, to += row_stride) {
        store_int8(to, convolve(columns + x * Step, channel, kChannels, weights, bias, low_scale, high_scale, results),
                   kChannels);
      }
    } else {
      for (size_t x = 0; x < places; ++x, to += row_stride) {
        store_int8(to, convolve(columns + x * Step, channel, count, weights, bias, low_scale, high_scale, results),
                   count);
      }
    }
  }
}

template <size_t Window>
void integer_depthwise(size_t channels, size_t output_width, const void** input, const void* packed, void* output,
                       intptr_t input_stride, size_t output_increment, size_t offset, const void* zero,
                       const void* params) {
  const DepthwiseRow<int8_t> row(channels, output_width, input, output, input_stride, output_increment, offset, zero);
  for_places<Window>(row, [&](auto step, const Column<int8_t, Window>* columns, size_t places, int8_t* to) {
    convolve_places<Window, step()>(columns, places, channels, static_cast<const int8_t*>(packed), to,
                                    row.output_stride, params);
  });
}

}  // namespace

void add_avx2_integer_depthwise(std::vector<DepthwiseKernel>& kernels) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back({"avx2", Elements::Int8, 9, kChannels,
                       reinterpret_cast<DepthwiseFunction>(xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_9p16c__avx2_mul32),
                       integer_depthwise<3>});
    kernels.push_back({"avx2", Elements::Int8, 25, kChannels,
                       reinterpret_cast<DepthwiseFunction>(xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_25p16c__avx2_mul32),
                       integer_depthwise<5>});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
