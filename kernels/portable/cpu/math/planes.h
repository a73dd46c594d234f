// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

/// The sizes and strides (in elements) of a tensor (N, C, H, W), or (C, H, W) as a batch of one, in any dim order.
struct Planes {
  int64_t batch, channels, height, width;
  int64_t batch_stride, channel_stride, row_stride, column_stride;

  /// `tensor` has 3 or 4 dimensions.
  static Planes of(const Tensor& tensor) {
    const ssize_t c = tensor.dim() - 3;
    const auto size = [&](ssize_t d) { return static_cast<int64_t>(tensor.size(d)); };
    const auto stride = [&](ssize_t d) { return static_cast<int64_t>(tensor.strides()[static_cast<size_t>(d)]); };
    return {c == 0 ? 1 : size(0),   size(c),   size(c + 1),   size(c + 2),
            c == 0 ? 0 : stride(0), stride(c), stride(c + 1), stride(c + 2)};
  }

  int64_t plane(int64_t n, int64_t c) const { return n * batch_stride + c * channel_stride; }
  int64_t pixel(int64_t h, int64_t w) const { return h * row_stride + w * column_stride; }
};

/// Resizes `out` to the sizes of `in` with another height and width.
inline bool check_resize_planes(KernelRuntimeContext& ctx, const char* op, Tensor& out, const Tensor& in,
                                int64_t height, int64_t width) {
  int64_t sizes[4];
  const ssize_t dims = in.dim();
  for (ssize_t d = 0; d < dims - 2; ++d) {
    sizes[d] = in.size(d);
  }
  sizes[dims - 2] = height;
  sizes[dims - 1] = width;
  return check_resize(ctx, op, out, sizes, static_cast<size_t>(dims));
}

/// Calls fn(offset of the input's plane, offset of the output's plane) for every plane.
template <typename Function>
void for_each_plane(const Planes& in, const Planes& out, const Function& fn) {
  if (out.height == 0 || out.width == 0) {
    return;  // An empty tensor may have billions of planes, for which nothing is computed.
  }
  for (int64_t n = 0; n < in.batch; ++n) {
    for (int64_t c = 0; c < in.channels; ++c) {
      fn(in.plane(n, c), out.plane(n, c));
    }
  }
}

}  // namespace torch::executor::native
