// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions of int8 for processors with AVX2 and without instructions for dot products. XNNPACK's kernel
// widens elements and weights to 32 bits and multiplies these, which takes two operations for eight products, and
// widens the weights again for each place. Here two taps are one product of pairs of 16 bits, and weights are widened
// once a row.
#include "products.h"

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "integer_results.h"
#include "product_rows.h"
#include "xnnpack/config.h"
#include "xnnpack/dwconv.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Channels of a block of packed weights: 16 biases, then for each tap 16 weights, then 16 scales.
constexpr size_t kChannels = 16;

/// Reads nothing behind `count` bytes.
EXECUTORCH_AVX2_INLINE __m128i load_int8(const int8_t* from, size_t count) {
  if (count >= kChannels) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  alignas(16) int8_t copy[kChannels] = {};
  std::memcpy(copy, from, count);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(copy));
}

/// Pairs of elements of two taps, of eight channels each.
struct Pairs {
  __m256i low, high;
};

EXECUTORCH_AVX2_INLINE Pairs pair(__m128i first, __m128i second) {
  return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second)),
          _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second))};
}

/// Places of a row for which weights are widened once.
constexpr size_t kPlaces = 32;

/// Where the elements of some places are, one for each tap.
template <size_t Taps>
using Taken = const int8_t* [kPlaces][Taps];

/// One place, `count` channels from `channel` on.
template <size_t Taps>
EXECUTORCH_AVX2_INLINE __m128i convolve(const int8_t* const* from, size_t channel, size_t count, const Pairs* weights,
                                        Pairs sums, __m256 low_scale, __m256 high_scale,
                                        const IntegerResults& results) {
#pragma GCC unroll 16
  for (size_t tap = 0; tap < Taps; tap += 2) {
    const __m128i first = load_int8(from[tap] + channel, count);
    const Pairs elements =
        pair(first, tap + 1 < Taps ? load_int8(from[tap + 1] + channel, count) : _mm_setzero_si128());
    sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(elements.low, weights[tap / 2].low));
    sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(elements.high, weights[tap / 2].high));
  }
  return results.of(sums.low, sums.high, low_scale, high_scale);
}

/// All channels of some places.
template <size_t Taps>
EXECUTORCH_AVX2 void convolve_places(const Taken<Taps>& from, size_t places, size_t channels, const int8_t* block,
                                     int8_t* output, size_t row_stride, const IntegerResults& results) {
  for (size_t channel = 0; channel < channels; channel += kChannels) {
    const size_t count = std::min(kChannels, channels - channel);
    const Pairs bias = {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32))};
    block += kChannels * sizeof(int32_t);
    Pairs weights[(Taps + 1) / 2];
    for (size_t tap = 0; tap < Taps; tap += 2) {
      const auto* taps = reinterpret_cast<const __m128i*>(block + tap * kChannels);
      weights[tap / 2] = pair(_mm_loadu_si128(taps), tap + 1 < Taps ? _mm_loadu_si128(taps + 1) : _mm_setzero_si128());
    }
    block += Taps * kChannels;
    const auto* scales = reinterpret_cast<const float*>(block);
    const __m256 low_scale = _mm256_loadu_ps(scales), high_scale = _mm256_loadu_ps(scales + 8);
    block += kChannels * sizeof(float);
    int8_t* to = output + channel;
    if (count == kChannels) {
      for (size_t x = 0; x < places; ++x, to += row_stride) {
        store_int8(to, convolve<Taps>(from[x], channel, kChannels, weights, bias, low_scale, high_scale, results),
                   kChannels);
      }
    } else {
      for (size_t x = 0; x < places; ++x, to += row_stride) {
        store_int8(to, convolve<Taps>(from[x], channel, count, weights, bias, low_scale, high_scale, results), count);
      }
    }
  }
}

template <size_t Taps>
EXECUTORCH_AVX2 void integer_depthwise(size_t channels, size_t output_width, const void** input, const void* packed,
                                       void* output, intptr_t input_stride, size_t output_increment, size_t offset,
                                       const void* zero, const void* params) {
  const IntegerResults results(*static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params));
  const size_t row_stride = channels + output_increment;
  auto* to = static_cast<int8_t*>(output);
  Taken<Taps> from;
  for (size_t start = 0; start < output_width; start += kPlaces) {
    const size_t places = std::min(kPlaces, output_width - start);
    for (size_t x = 0; x < places; ++x) {
      for (size_t tap = 0; tap < Taps; ++tap) {
        const auto* element = static_cast<const int8_t*>(input[tap]);
        from[x][tap] = element == zero ? element : element + offset;
      }
      input = plus_bytes(input, static_cast<size_t>(input_stride));
    }
    convolve_places<Taps>(from, places, channels, static_cast<const int8_t*>(packed), to, row_stride, results);
    to += places * row_stride;
  }
}

template <size_t Taps>
void replace(xnn_dwconv_config& config, xnn_dwconv_unipass_ukernel_fn theirs) {
  if (config.minmax.unipass == theirs && config.channel_tile == kChannels) {
    config.minmax.unipass = integer_depthwise<Taps>;
  }
}

}  // namespace

void use_integer_depthwise() {
  auto* configs = const_cast<xnn_dwconv_config*>(xnn_init_qs8_qc8w_dwconv_config());
  if (configs == nullptr) {
    return;
  }
  replace<9>(configs[1], reinterpret_cast<xnn_dwconv_unipass_ukernel_fn>(
                             xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_9p16c__avx2_mul32));
  replace<25>(configs[2], reinterpret_cast<xnn_dwconv_unipass_ukernel_fn>(
                              xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_25p16c__avx2_mul32));
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
