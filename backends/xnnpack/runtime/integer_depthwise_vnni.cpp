// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions of int8 for processors with AVX-512 and its instructions for dot products (VNNI). XNNPACK's
// kernel widens elements and weights to 32 bits at each place and multiplies these. Here a column of a window is one
// dot product for each channel, and is brought into order once for the windows that share it.
#include "depthwise.h"

// On Android XNNPACK takes its kernels for AVX2.
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) && !defined(__ANDROID__)

#define XNN_ENABLE_AVX512SKX 1  // XNNPACK is built so; its header declares the kernels only then

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "depthwise_rows.h"
#include "integer_results.h"
#include "xnnpack/dwconv.h"

// GCC 12 warns of its own header where no mask is given.
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Channels of a block of packed weights: 32 biases, then for each tap 32 weights, then 32 scales.
constexpr size_t kChannels = 32;

/// Four bytes for each channel. In each 128 bits of eight channels the first four are in `low`, the others in `high`.
struct Quads {
  __m512i low, high;
};

/// 32 bit each, in the order of Quads.
EXECUTORCH_VNNI_INLINE Quads load_words(const int8_t* from) {
  const __m512i first = _mm512_loadu_si512(from), second = _mm512_loadu_si512(from + 64);
  return {_mm512_shuffle_i32x4(first, second, 0x88), _mm512_shuffle_i32x4(first, second, 0xDD)};
}

/// `flip`: 0x80 to make signed elements unsigned ones that are 128 more; 0 for weights.
EXECUTORCH_VNNI_INLINE __m512i pair(__m256i first, __m256i second, int flip) {
  constexpr int kFirstOrSecondXorThird = 0x56;
  return _mm512_ternarylogic_epi32(_mm512_cvtepu8_epi16(first), _mm512_slli_epi16(_mm512_cvtepu8_epi16(second), 8),
                                   _mm512_set1_epi8(static_cast<char>(flip)), kFirstOrSecondXorThird);
}

/// Three rows of 32 channels; the fourth byte meets weights of zero.
EXECUTORCH_VNNI_INLINE Quads quads(__m256i first, __m256i second, __m256i third, int flip) {
  const __m512i pairs = pair(first, second, flip);
  const __m512i rest = _mm512_xor_si512(_mm512_cvtepu8_epi16(third), _mm512_set1_epi16(static_cast<short>(flip)));
  return {_mm512_unpacklo_epi16(pairs, rest), _mm512_unpackhi_epi16(pairs, rest)};
}

EXECUTORCH_VNNI_INLINE __m256i load_all(const int8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

EXECUTORCH_VNNI_INLINE void add_products(Quads& sums, const Quads& elements, const Quads& weights) {
  sums.low = _mm512_dpbusd_epi32(sums.low, elements.low, weights.low);
  sums.high = _mm512_dpbusd_epi32(sums.high, elements.high, weights.high);
}

/// Channels that are all there, and the last ones: reads and writes nothing behind these.
struct Whole {
  EXECUTORCH_VNNI_INLINE __m256i load(const int8_t* from) const { return load_all(from); }
  EXECUTORCH_VNNI_INLINE void store(int8_t* to, __m256i value) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  }
};

struct Part {
  EXECUTORCH_VNNI_INLINE __m256i load(const int8_t* from) const { return _mm256_maskz_loadu_epi8(mask, from); }
  EXECUTORCH_VNNI_INLINE void store(int8_t* to, __m256i value) const { _mm256_mask_storeu_epi8(to, mask, value); }
  __mmask32 mask;
};

constexpr size_t kWindow = 3, kTaps = kWindow * kWindow;
using ByteColumn = Column<int8_t, kWindow>;

template <typename Lanes>
EXECUTORCH_VNNI_INLINE Quads load_column(const ByteColumn& column, size_t channel, const Lanes& lanes) {
  return quads(lanes.load(column.rows[0] + channel), lanes.load(column.rows[1] + channel),
               lanes.load(column.rows[2] + channel), 0x80);
}

/// The channels of a block at each place.
template <size_t Step, typename Lanes>
EXECUTORCH_VNNI void convolve(const ByteColumn* columns, size_t places, size_t channel, const Lanes& lanes,
                              const int8_t* block, int8_t* to, size_t stride,
                              const xnn_qs8_qc8w_conv_minmax_params& params) {
  const WideIntegerResults results(params);
  Quads bias = load_words(block);
  block += kChannels * sizeof(int32_t);
  Quads weights[kWindow], window[kWindow];
  Quads excess = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
#pragma GCC unroll 8
  for (size_t c = 0; c < kWindow; ++c, block += kWindow * kChannels) {
    weights[c] = quads(load_all(block), load_all(block + kChannels), load_all(block + 2 * kChannels), 0);
    add_products(excess, {flip, flip}, weights[c]);
    if (c < kWindow - Step) {
      window[c] = load_column(columns[c], channel, lanes);
    }
  }
  bias = {_mm512_sub_epi32(bias.low, excess.low), _mm512_sub_epi32(bias.high, excess.high)};
  const Quads scales = load_words(block);
  const __m512 low_scale = _mm512_castsi512_ps(scales.low), high_scale = _mm512_castsi512_ps(scales.high);
  for (size_t x = 0; x < places; ++x, columns += Step, to += stride) {
    Quads sums = bias;
#pragma GCC unroll 8
    for (size_t c = 0; c < kWindow; ++c) {
      if (c >= kWindow - Step) {
        window[c] = load_column(columns[c], channel, lanes);
      }
      add_products(sums, window[c], weights[c]);
      if (c >= Step) {
        window[c - Step] = window[c];
      }
    }
    lanes.store(to, results.of(sums.low, sums.high, low_scale, high_scale));
  }
}

void integer_depthwise(size_t channels, size_t output_width, const void** input, const void* packed, void* output,
                       intptr_t input_stride, size_t output_increment, size_t offset, const void* zero,
                       const void* params) {
  constexpr size_t kBlock = kChannels * (sizeof(int32_t) + kTaps + sizeof(float));
  const DepthwiseRow<int8_t> row(channels, output_width, input, output, input_stride, output_increment, offset, zero);
  const auto& limits = *static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params);
  for_places<kWindow>(row, [&](auto step, const ByteColumn* columns, size_t places, int8_t* to) {
    const auto* block = static_cast<const int8_t*>(packed);
    for (size_t channel = 0; channel < channels; channel += kChannels, block += kBlock) {
      const size_t count = channels - channel;
      if (count >= kChannels) {
        convolve<step()>(columns, places, channel, Whole(), block, to + channel, row.output_stride, limits);
      } else {
        convolve<step()>(columns, places, channel, Part{(__mmask32(1) << count) - 1}, block, to + channel,
                         row.output_stride, limits);
      }
    }
  });
}

}  // namespace

void add_vnni_depthwise(std::vector<DepthwiseKernel>& kernels) {
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni")) {
    kernels.push_back(
        {"avx512vnni", false, kTaps, kChannels,
         reinterpret_cast<DepthwiseFunction>(xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_9p32c__avx512skx_mul32),
         integer_depthwise});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
