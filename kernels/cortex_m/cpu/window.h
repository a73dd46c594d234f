// SPDX-License-Identifier: BSD-3-Clause
// The windows of convolutions and pools over images, which are in memory as batch, height, width, channels.
#pragma once

#include "kernels/cortex_m/cpu/arguments.h"

namespace torch::executor::native::cortex_m {

/// The elements [first, last) of a window along one dimension that are in the image. Element `first` is at `position`
/// of the image; the position grows by `step` with each element.
struct Taps {
  size_t first;
  size_t last;
  size_t position;
  size_t step;

  size_t count() const { return last - first; }
};

/// One of the two dimensions of an image, and the windows along it.
struct Axis {
  int64_t in;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;

  int64_t spread() const { return dilation * (kernel - 1) + 1; }
  /// How many windows there are; 0 if the image with its padding is smaller than a window.
  int64_t windows() const { return in + 2 * padding < spread() ? 0 : (in + 2 * padding - spread()) / stride + 1; }
  /// The same with `ceil_mode`: windows may end after the image's padding, but begin in the image or the left padding.
  int64_t windows_rounded_up() const {
    const int64_t most = in + 2 * padding < spread() ? 0 : (in + 2 * padding - spread() + stride - 1) / stride + 1;
    return most > 0 && (most - 1) * stride >= in + padding ? most - 1 : most;
  }
  /// The elements of window `w` that are in the image.
  Taps taps(int64_t w) const {
    const int64_t start = w * stride - padding;
    const int64_t first = start >= 0 ? 0 : steps(-start);
    const int64_t reach = start >= in ? 0 : steps(in - start);
    const int64_t last = reach < kernel ? reach : kernel;
    if (first >= last) {
      return {0, 0, 0, 0};
    }
    return {static_cast<size_t>(first), static_cast<size_t>(last), static_cast<size_t>(start + first * dilation),
            static_cast<size_t>(dilation)};
  }

 private:
  /// How many elements of a dilated kernel have positions below `distance`.
  int64_t steps(int64_t distance) const { return dilation == 1 ? distance : (distance + dilation - 1) / dilation; }
};

struct Window {
  Axis height;
  Axis width;

  /// Calls body(kernel row, kernel column, pixel), with the index of the pixel in its image, for the elements of a
  /// window that are in the image.
  template <typename Body>
  void for_each(const Taps& rows, const Taps& columns, const Body& body) const {
    size_t row = rows.position * static_cast<size_t>(width.in) + columns.position;
    for (size_t ky = rows.first; ky < rows.last; ++ky, row += rows.step * static_cast<size_t>(width.in)) {
      size_t at = row;
      for (size_t kx = columns.first; kx < columns.last; ++kx, at += columns.step) {
        body(ky, kx, at);
      }
    }
  }
};

/// Checks the arguments of a window, and that the image and the kernel have a pixel. Stores the window.
inline bool check_window(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const int64_t (&kernel)[2],
                         IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, Window* window) {
  int64_t strides[2];
  int64_t paddings[2];
  int64_t dilations[2];
  if (!check_pair(ctx, op, "stride", stride, 1, strides) || !check_pair(ctx, op, "padding", padding, 0, paddings) ||
      !check_pair(ctx, op, "dilation", dilation, 1, dilations)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.size(2) > 0 && in.size(3) > 0 && kernel[0] > 0 && kernel[1] > 0, InvalidArgument, false,
                      "%s: expected an image and a kernel of at least one pixel, found %zd x %zd and %lld x %lld", op,
                      static_cast<ssize_t>(in.size(2)), static_cast<ssize_t>(in.size(3)),
                      static_cast<long long>(kernel[0]), static_cast<long long>(kernel[1]));
  window->height = {in.size(2), kernel[0], strides[0], paddings[0], dilations[0]};
  window->width = {in.size(3), kernel[1], strides[1], paddings[1], dilations[1]};
  return true;
}

/// Resizes `out` to an image, and checks its dtype and memory format.
inline bool check_resize_image(KernelRuntimeContext& ctx, const char* op, Tensor& out, int64_t batch, int64_t channels,
                               int64_t height, int64_t width) {
  ET_KERNEL_CHECK_MSG(ctx, height > 0 && width > 0, InvalidArgument, false,
                      "%s: the image with its padding is smaller than the kernel", op);
  const int64_t sizes[] = {batch, channels, height, width};
  return check_resize(ctx, op, out, sizes, 4) && check_image(ctx, op, "an output", out);
}

/// Calls body(batch, y, x, output pixel) for each pixel of `out`.
template <typename Body>
void for_each_pixel(const Tensor& out, const Body& body) {
  int64_t pixel = 0;
  for (int64_t n = 0; n < out.size(0); ++n) {
    for (int64_t y = 0; y < out.size(2); ++y) {
      for (int64_t x = 0; x < out.size(3); ++x) {
        body(n, y, x, pixel++);
      }
    }
  }
}

/// Calls body(batch, rows, columns, output pixel), with the Taps of the pixel's window, for each pixel of `out`.
template <typename Body>
void for_each_window(const Tensor& out, const Window& window, const Body& body) {
  size_t pixel = 0;
  for (size_t n = 0; n < static_cast<size_t>(out.size(0)); ++n) {
    for (int64_t y = 0; y < out.size(2); ++y) {
      const Taps rows = window.height.taps(y);
      for (int64_t x = 0; x < out.size(3); ++x) {
        body(n, rows, window.width.taps(x), pixel++);
      }
    }
  }
}

}  // namespace torch::executor::native::cortex_m
