// SPDX-License-Identifier: BSD-3-Clause
// int8 GEMM for processors with AVX-512 and its dot product instructions (VNNI). XNNPACK's kernel keeps two partial
// sums of each column, adds them up at the end of each tile, and loads all weights for every seven rows. Here each lane
// of an accumulator is one column, a tile has two panels, and up to 24 rows are multiplied by a panel while it is in
// the cache.
#include "kernels/products.h"

// On Android XNNPACK uses its kernels for AVX2.
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) && !defined(__ANDROID__)

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/integer_kernels.h"
#include "kernels/integer_results.h"
#include "private/xnnpack_kernels.h"

/// The compiler keeps the arrays of a tile in registers only when each loop over them is unrolled.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 16")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// The number of consecutive k that one instruction accumulates.
constexpr size_t kSteps = 4;
constexpr size_t kLog2Steps = 2;
constexpr int32_t kSigns = INT32_C(-0x7f7f7f80);  // 0x80 in each byte

size_t round_up(size_t depth) {
  return (depth + kSteps - 1) / kSteps * kSteps;
}

/// Scales accumulators and rounds to nearest, ties to even, as XNNPACK does.
class Results final {
 public:
  EXECUTORCH_VNNI_INLINE explicit Results(const xnn_qs8_qc8w_conv_minmax_params& params)
      : least_(
            _mm512_set1_ps(static_cast<float>(params.fp32_scalar.output_min - params.fp32_scalar.output_zero_point))),
        most_(_mm512_set1_ps(static_cast<float>(params.fp32_scalar.output_max - params.fp32_scalar.output_zero_point))),
        zero_point_(_mm512_set1_epi32(params.fp32_scalar.output_zero_point)) {}

  EXECUTORCH_VNNI_INLINE __m128i of(__m512i sums, __m512 scale) const {
    // GCC 12 warns about its own header for intrinsics without a mask.
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, sums), scale);
    const __m512 limited = _mm512_maskz_min_ps(0xFFFF, most_, _mm512_maskz_max_ps(0xFFFF, least_, scaled));
    return _mm512_maskz_cvtsepi32_epi8(0xFFFF,
                                       _mm512_add_epi32(_mm512_maskz_cvtps_epi32(0xFFFF, limited), zero_point_));
  }

 private:
  const __m512 least_, most_;
  const __m512i zero_point_;
};

/// Broadcasts four elements of a row to all columns.
EXECUTORCH_VNNI_INLINE __m512i load_steps(const int8_t* from) {
  int32_t steps;
  std::memcpy(&steps, from, sizeof(steps));
  return _mm512_set1_epi32(steps);
}

/// The last `count` elements of a row, 1 to 3, as the low bytes of an int32. Reads only these.
inline int32_t rest_of(const int8_t* from, size_t count) {
  const auto at = [from](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(from[i])) << (8 * i); };
  return static_cast<int32_t>(at(0) | at(count / 2) | at(count - 1));
}

/// GCC 12 copies the accumulator before each such instruction if it is written as an intrinsic.
EXECUTORCH_VNNI_INLINE void add_products(__m512i& sum, __m512i elements, __m512i weights) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(elements), "v"(weights));
}

struct Tiles {
  /// Rows that are multiplied by panels of weights while these are in the cache.
  static constexpr size_t kRows = 24;
  static constexpr size_t kColumns = kIntegerColumns;
  /// Their accumulators take 24 of 32 registers.
  static constexpr size_t kTileRows = 12, kTilePanels = 2;
  /// Smaller tiles prefetch nothing: a GEMM with one of them is bound by memory bandwidth anyway.
  static constexpr size_t kFewestRows = 6;
  /// GEMMs of few rows are bound by loading weights, and several streams load faster than one.
  static constexpr size_t most_panels(size_t rows) { return rows <= 2 ? 4 : kTilePanels; }

  /// Multiplies `Rows` rows from `first_row` on by `Panels` panels.
  template <size_t Rows, size_t Panels, typename Source>
  EXECUTORCH_VNNI static void multiply_tile(const IntegerProduct& product, const Source& source, size_t first_row,
                                            const int8_t* panel, int8_t* c, size_t columns) {
    const size_t panel_size = IntegerProduct::panel_size(round_up(product.depth) * source.tap_count());
    const __m512i signs = _mm512_set1_epi32(kSigns);
    __m512i sums[Panels][Rows];
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < Panels; ++p) {
      const __m512i bias = _mm512_loadu_si512(panel + p * panel_size);
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        sums[p][i] = bias;
      }
    }
    // The tiles of a whole block of kRows rows prefetch the next panels together, an equal part each.
    constexpr size_t kStepBytes = kIntegerColumns * kSteps, kMostTiles = kRows / kTileRows;
    const size_t steps = source.tap_count() * round_up(product.depth) / kSteps;
    Fetch fetch = product.fetches
                      ? Fetch(panel + Panels * panel_size, Panels * kStepBytes / kMostTiles, first_row == 0 ? 0 : steps)
                      : Fetch(panel, kStepBytes, 1);
    panel += kIntegerColumns * sizeof(int32_t);
    for (size_t tap = 0; tap < source.tap_count(); ++tap) {
      const int8_t* a[Rows];
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        a[i] = source.at(tap, first_row + i);
      }
      const auto add = [&](const auto& load) EXECUTORCH_VNNI_LAMBDA {
        if constexpr (Rows >= kFewestRows) {
          fetch.step();
        }
        __m512i weights[Panels];
        EXECUTORCH_UNROLL
        for (size_t p = 0; p < Panels; ++p) {
          weights[p] = _mm512_loadu_si512(panel + p * panel_size);
        }
        EXECUTORCH_UNROLL
        for (size_t i = 0; i < Rows; ++i) {
          const __m512i elements = _mm512_xor_si512(load(a[i]), signs);
          EXECUTORCH_UNROLL
          for (size_t p = 0; p < Panels; ++p) {
            add_products(sums[p][i], elements, weights[p]);
          }
        }
        panel += kIntegerColumns * kSteps;
      };
      size_t k = 0;
      for (; k + kSteps <= product.depth; k += kSteps) {
        add([&](const int8_t* row) EXECUTORCH_VNNI_LAMBDA { return load_steps(row + k); });
      }
      if (k < product.depth) {
        add([&](const int8_t* row)
                EXECUTORCH_VNNI_LAMBDA { return _mm512_set1_epi32(rest_of(row + k, product.depth - k)); });
      }
    }
    const Results results(*product.params);
    c = plus_bytes(c, first_row * product.row_stride);
    EXECUTORCH_UNROLL
    for (size_t p = 0; p < Panels; ++p) {
      const __m512 scale = _mm512_loadu_ps(panel + p * panel_size);
      const size_t count = std::min(kIntegerColumns, columns - p * kIntegerColumns);
      const auto mask = static_cast<__mmask16>((1u << count) - 1);
      int8_t* to = plus_bytes(c, p * product.panel_stride);
      EXECUTORCH_UNROLL
      for (size_t i = 0; i < Rows; ++i) {
        _mm_mask_storeu_epi8(plus_bytes(to, i * product.row_stride), mask, results.of(sums[p][i], scale));
      }
    }
  }

  template <typename Source>
  static void multiply(size_t rows, size_t columns, const IntegerProduct& product, const Source& source) {
    const size_t panel_size = IntegerProduct::panel_size(round_up(product.depth) * source.tap_count());
    for_tiles<Tiles>(rows, columns, [&](auto height, auto panels, size_t row, size_t first, size_t left) {
      multiply_tile<height(), panels()>(product, source, row, product.weights + first * panel_size,
                                        plus_bytes(product.c, first * product.panel_stride), left);
    });
  }
};

/// Packs weights [columns][depth] for the tiles. These add 128 to the elements of A, which the packed biases
/// compensate. Of the type xnn_packw_gemm_goi_ukernel_fn; the caller adds the scales.
EXECUTORCH_VNNI void pack(size_t groups, size_t columns, size_t depth, size_t /*nr*/, size_t /*kr*/, size_t /*sr*/,
                          const void* weights, const void* bias, const void* /*scales*/, void* packed,
                          size_t extra_bytes, const void* params) {
  const auto* from = static_cast<const int8_t*>(weights);
  const auto* biases = static_cast<const int32_t*>(bias);
  auto* to = static_cast<int8_t*>(packed);
  const auto* packing = static_cast<const xnn_qs8_packing_params*>(params);
  const __m512i zero_point = _mm512_set1_epi32(packing->input_zero_point + 128), ones = _mm512_set1_epi8(1);
  const __m512i rows = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                          _mm512_set1_epi32(static_cast<int>(depth)));
  for (; groups > 0; --groups) {
    for (size_t first = 0; first < columns; first += kIntegerColumns) {
      const size_t count = std::min(kIntegerColumns, columns - first);
      const auto mask = static_cast<__mmask16>((1u << count) - 1);
      int8_t* const panel_biases = to;
      to += kIntegerColumns * sizeof(int32_t);
      __m512i sums = _mm512_setzero_si512();
      for (size_t k = 0; k < depth; k += kSteps, to += kIntegerColumns * kSteps) {
        __m512i steps = _mm512_setzero_si512();
        if (k + kSteps <= depth) {
          steps = _mm512_mask_i32gather_epi32(steps, mask, rows, from + k, 1);
        } else {
          alignas(64) int32_t some[kIntegerColumns] = {};
          for (size_t i = 0; i < count; ++i) {
            some[i] = rest_of(from + i * depth + k, depth - k);
          }
          steps = _mm512_load_si512(some);
        }
        _mm512_storeu_si512(to, steps);
        add_products(sums, ones, steps);
      }
      const __m512i given = biases == nullptr ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi32(mask, biases + first);
      _mm512_storeu_si512(panel_biases, _mm512_sub_epi32(given, _mm512_mullo_epi32(sums, zero_point)));
      to += extra_bytes;
      from += count * depth;
    }
    biases = biases == nullptr ? nullptr : biases + columns;
  }
}

}  // namespace

void use_vnni_integer_products() {
  if (auto* config = find_integer_config(xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_7x16c8__avx512vnni_prfm, 7)) {
    IntegerKernels<Tiles>::use_in(*config, kLog2Steps);
    config->pack_gemm_goi = pack;
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
