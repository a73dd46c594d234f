// SPDX-License-Identifier: BSD-3-Clause
// Depthwise int8 convolutions for processors with AVX-512 and its dot product instructions (VNNI). XNNPACK's kernel
// widens elements and weights to int32 for each pixel. Here a column of a window is one dot product for each channel
// (or two if the window has five rows), and its bytes are interleaved once for all windows that share it.
#include "kernels/depthwise.h"

// On Android XNNPACK uses its kernels for AVX2.
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) && !defined(__ANDROID__)

#define XNN_ENABLE_AVX512SKX 1  // XNNPACK is built with it, and its header declares the kernels only if it is defined

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/depthwise_rows.h"
#include "kernels/integer_results.h"
#include "private/xnnpack_kernels.h"

// GCC 12 warns about its own header for intrinsics without a mask.
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

/// Four bytes for each of 32 channels. Of each group of eight channels, `low` holds the first four in 128 bits, and
/// `high` the others, as unpack instructions leave them.
struct Quads {
  __m512i low, high;
};

/// Loads 32 int32, in the order of Quads.
EXECUTORCH_VNNI_INLINE Quads load_words(const int8_t* from) {
  const __m512i first = _mm512_loadu_si512(from), second = _mm512_loadu_si512(from + 64);
  return {_mm512_shuffle_i32x4(first, second, 0x88), _mm512_shuffle_i32x4(first, second, 0xDD)};
}

/// Interleaves the bytes of `first` and `second`, XOR `flip`: 0x80 converts int8 to uint8 by adding 128.
EXECUTORCH_VNNI_INLINE __m512i pair(__m256i first, __m256i second, int flip) {
  constexpr int kFirstOrSecondXorThird = 0x56;
  return _mm512_ternarylogic_epi32(_mm512_cvtepu8_epi16(first), _mm512_slli_epi16(_mm512_cvtepu8_epi16(second), 8),
                                   _mm512_set1_epi8(static_cast<char>(flip)), kFirstOrSecondXorThird);
}

EXECUTORCH_VNNI_INLINE __m256i load_all(const int8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// A column of a window: its first four rows, and the fifth in a second quad. Missing rows have weights of zero.
template <size_t Window>
struct ColumnQuads {
  static constexpr size_t kCount = (Window + 3) / 4;
  Quads quads[kCount];
};

/// load(y) returns row y of the column for 32 channels.
template <size_t Window, typename Load>
EXECUTORCH_VNNI_INLINE ColumnQuads<Window> load_quads(const Load& load, int flip) {
  const __m256i none = _mm256_setzero_si256();
  ColumnQuads<Window> column;
#pragma GCC unroll 2
  for (size_t i = 0; i < ColumnQuads<Window>::kCount; ++i) {
    const size_t y = 4 * i;
    const __m512i first = pair(load(y), y + 1 < Window ? load(y + 1) : none, flip),
                  second = pair(y + 2 < Window ? load(y + 2) : none, y + 3 < Window ? load(y + 3) : none, flip);
    column.quads[i] = {_mm512_unpacklo_epi16(first, second), _mm512_unpackhi_epi16(first, second)};
  }
  return column;
}

template <size_t Window>
EXECUTORCH_VNNI_INLINE void add_products(Quads& sums, const ColumnQuads<Window>& elements,
                                         const ColumnQuads<Window>& weights) {
#pragma GCC unroll 2
  for (size_t i = 0; i < ColumnQuads<Window>::kCount; ++i) {
    sums.low = _mm512_dpbusd_epi32(sums.low, elements.quads[i].low, weights.quads[i].low);
    sums.high = _mm512_dpbusd_epi32(sums.high, elements.quads[i].high, weights.quads[i].high);
  }
}

/// Loads and stores whole blocks of channels.
struct Whole {
  EXECUTORCH_VNNI_INLINE __m256i load(const int8_t* from) const { return load_all(from); }
  EXECUTORCH_VNNI_INLINE void store(int8_t* to, __m256i value) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  }
};

/// Loads and stores the channels of `mask` only, for the last block.
struct Part {
  EXECUTORCH_VNNI_INLINE __m256i load(const int8_t* from) const { return _mm256_maskz_loadu_epi8(mask, from); }
  EXECUTORCH_VNNI_INLINE void store(int8_t* to, __m256i value) const { _mm256_mask_storeu_epi8(to, mask, value); }
  __mmask32 mask;
};

template <size_t Window, typename Lanes>
EXECUTORCH_VNNI_INLINE ColumnQuads<Window> load_column(const Column<int8_t, Window>& column, size_t channel,
                                                       const Lanes& lanes) {
  return load_quads<Window>([&](size_t y) EXECUTORCH_VNNI_LAMBDA { return lanes.load(column.rows[y] + channel); },
                            0x80);
}

/// Computes a block of channels for each of `places` pixels.
template <size_t Window, size_t Step, typename Lanes>
EXECUTORCH_VNNI void convolve(const Column<int8_t, Window>* columns, size_t places, size_t channel, const Lanes& lanes,
                              const int8_t* block, int8_t* to, size_t stride,
                              const xnn_qs8_qc8w_conv_minmax_params& params) {
  const WideIntegerResults results(params);
  Quads bias = load_words(block);
  block += kChannels * sizeof(int32_t);
  ColumnQuads<Window> weights[Window], window[Window];
  Quads excess = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  ColumnQuads<Window> flips;
  std::fill_n(flips.quads, ColumnQuads<Window>::kCount, Quads{_mm512_set1_epi8(-128), _mm512_set1_epi8(-128)});
#pragma GCC unroll 8
  for (size_t c = 0; c < Window; ++c, block += Window * kChannels) {
    weights[c] =
        load_quads<Window>([&](size_t y) EXECUTORCH_VNNI_LAMBDA { return load_all(block + y * kChannels); }, 0);
    add_products(excess, flips, weights[c]);
    if (c < Window - Step) {
      window[c] = load_column(columns[c], channel, lanes);
    }
  }
  bias = {_mm512_sub_epi32(bias.low, excess.low), _mm512_sub_epi32(bias.high, excess.high)};
  const Quads scales = load_words(block);
  const __m512 low_scale = _mm512_castsi512_ps(scales.low), high_scale = _mm512_castsi512_ps(scales.high);
  for (size_t x = 0; x < places; ++x, columns += Step, to += stride) {
    Quads sums = bias;
#pragma GCC unroll 8
    for (size_t c = 0; c < Window; ++c) {
      if (c >= Window - Step) {
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

template <size_t Window>
void integer_depthwise(size_t channels, size_t output_width, const void** input, const void* packed, void* output,
                       intptr_t input_stride, size_t output_increment, size_t offset, const void* zero,
                       const void* params) {
  constexpr size_t kBlock = kChannels * (sizeof(int32_t) + Window * Window + sizeof(float));
  const DepthwiseRow<int8_t> row(channels, output_width, input, output, input_stride, output_increment, offset, zero);
  const auto& limits = *static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params);
  for_places<Window>(row, [&](auto step, const Column<int8_t, Window>* columns, size_t places, int8_t* to) {
    const auto* block = static_cast<const int8_t*>(packed);
    for (size_t channel = 0; channel < channels; channel += kChannels, block += kBlock) {
      const size_t count = channels - channel;
      if (count >= kChannels) {
        convolve<Window, step()>(columns, places, channel, Whole(), block, to + channel, row.output_stride, limits);
      } else {
        convolve<Window, step()>(columns, places, channel, Part{(__mmask32(1) << count) - 1}, block, to + channel,
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
        {"avx512vnni", Elements::Int8, 9, kChannels,
         reinterpret_cast<DepthwiseFunction>(xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_9p32c__avx512skx_mul32),
         integer_depthwise<3>});
    kernels.push_back(
        {"avx512vnni", Elements::Int8, 25, kChannels,
         reinterpret_cast<DepthwiseFunction>(xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_25p32c__avx512skx_mul32),
         integer_depthwise<5>});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
