// SPDX-License-Identifier: BSD-3-Clause
// Windows that slide over one to three spatial dimensions.
#pragma once

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

constexpr size_t kSpatialDims = 3;

/// One axis of a pooling window.
struct PoolAxis {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, in = 1, out = 1;

  /// First position of window `o`, which may lie in the padding.
  int64_t start(int64_t o) const { return o * stride - padding; }
  /// One past the last position of window `o` of an axis without dilation, at most the end of the padding.
  int64_t padded_end(int64_t o) const {
    const int64_t end = start(o) + kernel;
    return end < in + padding ? end : in + padding;
  }
};

/// The arguments of a pooling operator. An empty stride means the kernel's size.
struct PoolParameters {
  IntArrayRef kernel_size, stride, padding, dilation;
  bool ceil_mode;
};

/// Reads value `i` of a list with one value for all `spatial` dimensions, or one for each. Fails the context if the
/// value is below `least`, or above a limit that keeps products of sizes in int64.
bool read_pool_value(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef list, size_t spatial,
                     size_t i, int64_t least, int64_t* value);

/// Reads axis `i` of the last `spatial` dimensions of `in`. With ceil_mode, a last window may end after the input and
/// its padding, but must start in the input or in the padding before it.
bool read_pool_axis(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial, size_t i,
                    const PoolParameters& parameters, PoolAxis* axis);

/// Checks that `in` is (C, spatial...) or (N, C, spatial...), and that `out` has its dtype.
bool check_pool_input(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial, const Tensor& out);

/// Positions [begin, end) of one axis, every `step`-th.
struct Span {
  int64_t begin = 0, end = 1, step = 1;

  int64_t count() const { return end > begin ? (end - begin + step - 1) / step : 0; }
};

/// The positions of the input that window `o` covers, without padding.
Span window_span(const PoolAxis& axis, int64_t o);

/// The positions that window `o` of adaptive pooling from `in` to `out` positions covers: floor(o * in / out) to
/// ceil((o + 1) * in / out).
inline Span adaptive_span(int64_t in, int64_t out, int64_t o) {
  return {o * in / out, ((o + 1) * in + out - 1) / out, 1};
}

/// Views a tensor (N, C, spatial...) or (C, spatial...) of any dim order as one with three spatial dimensions; missing
/// ones come first and have size 1. Strides are in elements.
struct Volumes {
  int64_t batch = 1, channels = 1;
  int64_t batch_stride = 0, channel_stride = 0;
  int64_t size[kSpatialDims] = {1, 1, 1};
  int64_t stride[kSpatialDims] = {0, 0, 0};

  /// `tensor` has `spatial` + 1 or `spatial` + 2 dimensions.
  static Volumes of(const Tensor& tensor, size_t spatial);

  int64_t at(int64_t d, int64_t h, int64_t w) const { return d * stride[0] + h * stride[1] + w * stride[2]; }
  /// The number of a position in row-major order within one channel.
  int64_t number(int64_t d, int64_t h, int64_t w) const { return (d * size[1] + h) * size[2] + w; }
};

/// Resizes `out` to the sizes of `in` with other spatial sizes, the last `spatial` of `sizes`.
bool check_resize_volumes(KernelRuntimeContext& ctx, const char* op, Tensor& out, const Tensor& in, size_t spatial,
                          const int64_t (&sizes)[kSpatialDims]);

/// A window over the input's elements from `in` on, and the index `out` of its element of the output.
struct Window {
  int64_t in, out;
  int64_t position[kSpatialDims];  ///< of the output's element
  Span span[kSpatialDims];

  int64_t count() const { return span[0].count() * span[1].count() * span[2].count(); }

  /// Calls body(d, h, w) for every position of the input.
  template <typename Body>
  void for_each(const Body& body) const {
    for (int64_t d = span[0].begin; d < span[0].end; d += span[0].step) {
      for (int64_t h = span[1].begin; h < span[1].end; h += span[1].step) {
        for (int64_t w = span[2].begin; w < span[2].end; w += span[2].step) {
          body(d, h, w);
        }
      }
    }
  }
};

/// Calls body(window) for every element of `out`. `span_of(axis, o)` returns the positions of `in` along an axis that
/// window `o` covers.
template <typename SpanOf, typename Body>
void for_each_window(const Volumes& in, const Volumes& out, const SpanOf& span_of, const Body& body) {
  if (out.size[0] == 0 || out.size[1] == 0 || out.size[2] == 0) {
    return;  // There may be billions of channels, for which nothing is computed.
  }
  Window window;
  for (int64_t n = 0; n < out.batch; ++n) {
    for (int64_t c = 0; c < out.channels; ++c) {
      window.in = n * in.batch_stride + c * in.channel_stride;
      const int64_t channel = n * out.batch_stride + c * out.channel_stride;
      int64_t(&o)[kSpatialDims] = window.position;
      for (o[0] = 0; o[0] < out.size[0]; ++o[0]) {
        window.span[0] = span_of(0, o[0]);
        for (o[1] = 0; o[1] < out.size[1]; ++o[1]) {
          window.span[1] = span_of(1, o[1]);
          for (o[2] = 0; o[2] < out.size[2]; ++o[2]) {
            window.span[2] = span_of(2, o[2]);
            window.out = channel + out.at(o[0], o[1], o[2]);
            body(static_cast<const Window&>(window));
          }
        }
      }
    }
  }
}

}  // namespace torch::executor::native
