// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Reads the indirection buffer for depthwise kernels: the addresses of the elements under each window of an output row.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/product_rows.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "kernels/integer_results.h"
#else
#define EXECUTORCH_AVX2
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

/// The arguments of a kernel of the type xnn_dwconv_unipass_ukernel_fn: one row of output pixels.
template <typename T>
struct DepthwiseRow {
  DepthwiseRow(size_t channels, size_t output_width, const void** input, void* output, intptr_t input_stride,
               size_t output_increment, size_t offset, const void* zero)
      : channels(channels),
        width(output_width),
        input(input),
        input_stride(static_cast<size_t>(input_stride)),
        output(static_cast<T*>(output)),
        output_stride(channels + output_increment / sizeof(T)),
        offset(offset),
        zero(zero) {}

  /// Writes the addresses for the first `count` pointers of `input` to `found`.
  EXECUTORCH_AVX2 void find(size_t count, const T** found) const {
    size_t i = 0;
#ifdef __x86_64__
    static_assert(sizeof(void*) == sizeof(int64_t), "four pointers are a vector");
    const __m256i padding = _mm256_set1_epi64x(static_cast<int64_t>(reinterpret_cast<uintptr_t>(zero))),
                  moved = _mm256_set1_epi64x(static_cast<int64_t>(offset));
    for (; i + 4 <= count; i += 4) {
      const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(input + i));
      const __m256i at = _mm256_add_epi64(from, _mm256_andnot_si256(_mm256_cmpeq_epi64(from, padding), moved));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(found + i), at);
    }
#endif
    for (; i < count; ++i) {
      found[i] = static_cast<const T*>(plus_bytes(input[i], input[i] == zero ? 0 : offset));
    }
  }

  size_t channels, width;
  const void** input;   // a pointer for each tap of the first window, in column-major order
  size_t input_stride;  // bytes to the pointers of the next window
  T* output;
  size_t output_stride;  // elements
  size_t offset;         // bytes to the current image of the batch
  const void* zero;      // the padding; `offset` is not added to it
};

/// A column of a window: one pointer for each of its rows.
template <typename T, size_t Window>
struct Column {
  const T* rows[Window];
};

/// Output pixels that are computed for one block of channels before the next block, while the block's weights are in
/// registers. The elements under the windows of so few pixels stay in the cache for the next block.
constexpr size_t kPlaces = 32;

template <size_t Step, size_t Window, typename T, typename Function>
void pass_places(DepthwiseRow<T> row, const Function& function) {
  constexpr size_t kTaps = Window * Window;
  Column<T, Window> columns[kPlaces * Window];
  while (row.width > 0) {
    const size_t places = std::min(kPlaces, row.width);
    const T** to = columns[0].rows;
    if (row.input_stride == Step * Window * sizeof(void*)) {
      row.find(((places - 1) * Step + Window) * Window, to);
      row.input += places * Step * Window;
    } else {
      for (size_t x = 0; x < places; ++x) {
        row.find(kTaps, to + x * kTaps);
        row.input = plus_bytes(row.input, row.input_stride);
      }
    }
    function(std::integral_constant<size_t, Step>(), static_cast<const Column<T, Window>*>(columns), places,
             row.output);
    row.output += places * row.output_stride;
    row.width -= places;
  }
}

/// Calls function(step, columns, places, output) for consecutive groups of `places` pixels of the row. A window has
/// `Window` columns, and the next window begins `step` columns later; `step` is a std::integral_constant<size_t, ...>.
/// It is `Window` if windows share no columns (dilation, large strides).
template <size_t Window, typename T, typename Function>
void for_places(const DepthwiseRow<T>& row, const Function& function) {
  constexpr size_t kColumnBytes = Window * sizeof(void*);
  if (row.input_stride == kColumnBytes) {
    pass_places<1, Window>(row, function);
  } else if (row.input_stride == 2 * kColumnBytes) {
    pass_places<2, Window>(row, function);
  } else {
    pass_places<Window, Window>(row, function);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
