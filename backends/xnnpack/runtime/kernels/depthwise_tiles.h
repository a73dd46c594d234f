// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Floating-point depthwise convolutions for one instruction set. A file that includes this header first defines
 * EXECUTORCH_TARGET, the attribute of functions that use the instruction set, and instantiates the templates with a
 * type like this:
 *
 *     struct Simd {
 *       using Element = float;
 *       using Vector = ...;
 *       static constexpr size_t kWidth = ...;    // elements of a vector
 *       static constexpr size_t kVectors = ...;  // vectors of channels at once, for 3 x 3 windows
 *       static constexpr bool kUnrolls = ...;    // whether accumulators keep their registers from pixel to pixel
 *       struct Whole {                           // reads and writes kWidth elements
 *         explicit Whole(size_t count);
 *         Vector load(const Element* from) const;
 *         void store(Element* to, Vector value) const;
 *       };
 *       struct Part { ... };  // writes the first `count` elements only; may read kWidth
 *       static Vector broadcast(Element value);
 *       static Vector multiply_add(Vector a, Vector b, Vector sum);
 *       static Vector clamp(Vector value, Vector least, Vector most);
 *     };
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/depthwise_rows.h"
#include "private/xnnpack_kernels.h"

#ifndef EXECUTORCH_TARGET
#error "Define EXECUTORCH_TARGET, for example __attribute__((target(\"avx2,fma\"))), before this header."
#endif

#define EXECUTORCH_INLINE EXECUTORCH_TARGET __attribute__((always_inline)) inline
/// The compiler keeps the arrays of a window in registers only when each loop over them is unrolled.
#define EXECUTORCH_UNROLL _Pragma("GCC unroll 8")

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Windows of `Window` x `Window` with weights packed in blocks of `Tile` channels.
template <typename Simd, size_t Window, size_t Tile>
struct Depthwise {
  using Element = typename Simd::Element;
  using Vector = typename Simd::Vector;
  using Columns = const Column<Element, Window>*;
  /// Elements of a block of packed weights: the biases of `Tile` channels, then their weights for each tap.
  static constexpr size_t kBlock = Tile * (1 + Window * Window);

  /// The output of the next pixel, the distance to the one after it, and the limits of outputs.
  struct Results {
    Element* to;
    size_t stride;  // elements
    Element least, most;
  };

  /// The number of windows that share a column.
  template <size_t Step>
  static constexpr size_t kOpen = (Window - 1) / Step + 1;

  template <size_t Vectors>
  struct Weights {
    Vector bias[Vectors];
    Vector taps[Window][Window][Vectors];
  };

  static const Element* block_of(const void* packed, size_t channel) {
    return static_cast<const Element*>(packed) + channel / Tile * kBlock + channel % Tile;
  }

  template <size_t Vectors>
  EXECUTORCH_INLINE static void load(const void* packed, size_t channel, Weights<Vectors>& weights) {
    constexpr typename Simd::Whole kWhole(Simd::kWidth);
    EXECUTORCH_UNROLL
    for (size_t v = 0; v < Vectors; ++v) {
      const Element* const block = block_of(packed, channel + v * Simd::kWidth);
      weights.bias[v] = kWhole.load(block);
      EXECUTORCH_UNROLL
      for (size_t c = 0; c < Window; ++c) {
        EXECUTORCH_UNROLL
        for (size_t y = 0; y < Window; ++y) {
          weights.taps[c][y][v] = kWhole.load(block + (1 + c * Window + y) * Tile);
        }
      }
    }
  }

  /// Adds the first `Step` columns of the window of pixel x to the accumulators of pixels x - d for each d from `first`
  /// to `last`, which are sums[d]. After the last window only the columns that earlier windows share remain.
  template <size_t Step, size_t Vectors, typename Lanes>
  EXECUTORCH_INLINE static void add_columns(Columns columns, size_t channel, const Lanes& lanes,
                                            const Weights<Vectors>& weights, Vector (&sums)[kOpen<Step>][Vectors],
                                            size_t first, size_t last) {
    EXECUTORCH_UNROLL
    for (size_t c = 0; c < Step; ++c) {
      if (c + first * Step >= Window) {
        continue;
      }
      EXECUTORCH_UNROLL
      for (size_t y = 0; y < Window; ++y) {
        const Element* const from = columns[c].rows[y] + channel;
        EXECUTORCH_UNROLL
        for (size_t v = 0; v < Vectors; ++v) {
          const Vector elements = lanes.load(from + v * Simd::kWidth);
          EXECUTORCH_UNROLL
          for (size_t d = 0; d < kOpen<Step>; ++d) {
            if (d >= first && d <= last && c + d * Step < Window) {
              sums[d][v] = Simd::multiply_add(elements, weights.taps[c + d * Step][y][v], sums[d][v]);
            }
          }
        }
      }
    }
  }

  /// Shifts the accumulators by one pixel: those of x - d become those of x + 1 - d.
  template <size_t Step, size_t Vectors>
  EXECUTORCH_INLINE static void begin_next(const Weights<Vectors>& weights, Vector (&sums)[kOpen<Step>][Vectors]) {
    EXECUTORCH_UNROLL
    for (size_t v = 0; v < Vectors; ++v) {
      EXECUTORCH_UNROLL
      for (size_t d = kOpen<Step> - 1; d > 0; --d) {
        sums[d][v] = sums[d - 1][v];
      }
      sums[0][v] = weights.bias[v];
    }
  }

  template <size_t Vectors, typename Lanes>
  EXECUTORCH_INLINE static void store(const Vector (&sums)[Vectors], const Lanes& lanes, Results& results) {
    const Vector least = Simd::broadcast(results.least), most = Simd::broadcast(results.most);
    EXECUTORCH_UNROLL
    for (size_t v = 0; v < Vectors; ++v) {
      lanes.store(results.to + v * Simd::kWidth, Simd::clamp(sums[v], least, most));
    }
    results.to += results.stride;
  }

  /// Adds the columns of a pixel, with which the oldest window is complete, and stores its results.
  template <size_t Step, size_t Vectors, typename Lanes>
  EXECUTORCH_INLINE static void end_window(Columns columns, size_t channel, const Lanes& lanes,
                                           const Weights<Vectors>& weights, Vector (&sums)[kOpen<Step>][Vectors],
                                           Results& results) {
    add_columns<Step>(columns, channel, lanes, weights, sums, 0, kOpen<Step> - 1);
    store(sums[kOpen<Step> - 1], lanes, results);
    begin_next<Step>(weights, sums);
  }

  /// Computes `Vectors` vectors of channels for each pixel. XNNPACK's kernels load all elements of a window and all
  /// weights for each pixel. Here each element is loaded once, and its products are added to the accumulators of all
  /// windows that contain it, in the same order as XNNPACK adds them. Not inlined: a function that has several of these
  /// loops has too few registers for each of them.
  template <size_t Step, size_t Vectors, typename Lanes>
  EXECUTORCH_TARGET __attribute__((noinline)) static void convolve(Columns columns, size_t places, size_t channel,
                                                                   const Lanes& lanes, const void* packed,
                                                                   const Results& first_results) {
    Results results = first_results;
    constexpr size_t kLast = kOpen<Step> - 1;
    Weights<Vectors> weights;
    load(packed, channel, weights);
    Vector sums[kOpen<Step>][Vectors];
    EXECUTORCH_UNROLL
    for (size_t d = 0; d <= kLast; ++d) {
      EXECUTORCH_UNROLL
      for (size_t v = 0; v < Vectors; ++v) {  // std::copy_n would make GCC keep the accumulators in memory, too
        sums[d][v] = weights.bias[v];
      }
    }
    EXECUTORCH_UNROLL
    for (size_t x = 0; x < kLast; ++x) {
      if (x < places) {
        add_columns<Step>(columns, channel, lanes, weights, sums, 0, x);
        begin_next<Step>(weights, sums);
        columns += Step;
      }
    }
    size_t x = kLast;
    if constexpr (Simd::kUnrolls) {  // after so many pixels, all accumulators are where they were
      for (; x + kOpen<Step> <= places; x += kOpen<Step>) {
        EXECUTORCH_UNROLL
        for (size_t i = 0; i < kOpen<Step>; ++i, columns += Step) {
          end_window<Step>(columns, channel, lanes, weights, sums, results);
        }
      }
    }
    for (; x < places; ++x, columns += Step) {
      end_window<Step>(columns, channel, lanes, weights, sums, results);
    }
    EXECUTORCH_UNROLL
    for (size_t first = 1; first <= kLast; ++first, columns += Step) {
      add_columns<Step>(columns, channel, lanes, weights, sums, first, kLast);
      if (places + first > kLast) {
        store(sums[kLast], lanes, results);
      }
      begin_next<Step>(weights, sums);
    }
  }

  /// An xnn_dwconv_unipass_ukernel_fn.
  static void kernel(size_t channels, size_t output_width, const void** input, const void* packed, void* output,
                     intptr_t input_stride, size_t output_increment, size_t offset, const void* zero,
                     const void* params) {
    const DepthwiseRow<Element> row(channels, output_width, input, output, input_stride, output_increment, offset,
                                    zero);
    const auto* const limits = static_cast<const Element*>(params);  // xnn_f32_minmax_params or its like
    for_places<Window>(row, [&](auto step, Columns columns, size_t places, Element* to) {
      constexpr size_t kVectors = Window > 3 ? 1 : Simd::kVectors;
      constexpr size_t kMost = kVectors * Simd::kWidth;
      for (size_t channel = 0, count; channel < channels; channel += count) {
        const size_t rest = channels - channel;
        const Results results = {to + channel, row.output_stride, limits[0], limits[1]};
        if (rest >= kMost) {
          count = kMost;
          convolve<step(), kVectors>(columns, places, channel, typename Simd::Whole(count), packed, results);
        } else if (rest >= Simd::kWidth) {
          count = Simd::kWidth;
          convolve<step(), 1>(columns, places, channel, typename Simd::Whole(count), packed, results);
        } else {
          count = rest;
          convolve<step(), 1>(columns, places, channel, typename Simd::Part(count), packed, results);
        }
      }
    });
  }
};

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
