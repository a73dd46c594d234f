// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native::cadence {
namespace {

Strides strides_of(int64_t channels, const int64_t (&sizes)[2], bool is_last) {
  const int64_t pixels = sizes[0] * sizes[1];
  return is_last ? Strides{channels * pixels, 1, channels * sizes[1], channels}
                 : Strides{channels * pixels, pixels, sizes[1], 1};
}

}  // namespace

bool read_image(KernelRuntimeContext& ctx, const char* op, const Tensor& input, bool is_last, Window* window) {
  const ssize_t rank = input.dim();
  ET_KERNEL_CHECK_MSG(ctx, rank == 3 || rank == 4, InvalidArgument, false,
                      "%s: expected an input of 3 or 4 dimensions, found %zd", op, rank);
  const ssize_t first = is_last ? 1 : 2;
  window->batch = input.size(0);
  window->channels = input.size(is_last ? rank - 1 : 1);
  window->sizes[0] = rank == 4 ? input.size(first) : 1;
  window->sizes[1] = input.size(first + rank - 3);
  window->in = strides_of(window->channels, window->sizes, is_last);
  window->groups = 1;
  window->outputs = window->channels;
  return check_order(ctx, op, "an input", input);
}

bool read_places(KernelRuntimeContext& ctx, const char* op, size_t rank, IntArrayRef stride, IntArrayRef padding,
                 IntArrayRef dilation, Window* window) {
  const size_t count = rank == 4 ? 2 : 1, at = 2 - count;
  window->stride[0] = window->dilation[0] = 1;
  window->padding[0] = 0;
  return read_numbers(ctx, op, "strides", stride, count, 1, window->stride + at) &&
         read_numbers(ctx, op, "paddings", padding, count, 0, window->padding + at) &&
         read_numbers(ctx, op, "dilations", dilation, count, 1, window->dilation + at);
}

bool resize_image(KernelRuntimeContext& ctx, const char* op, size_t rank, bool is_last, Window* window, Tensor& out) {
  int64_t sizes[4];
  size_t next = 0;
  sizes[next++] = window->batch;
  if (!is_last) {
    sizes[next++] = window->outputs;
  }
  if (rank == 4) {
    sizes[next++] = window->results[0];
  }
  sizes[next++] = window->results[1];
  if (is_last) {
    sizes[next++] = window->outputs;
  }
  window->out = strides_of(window->outputs, window->results, is_last);
  return check_resize(ctx, op, out, sizes, next) && check_order(ctx, op, "an output", out);
}

bool resize_to_windows(KernelRuntimeContext& ctx, const char* op, size_t rank, bool is_last, Window* window,
                       Tensor& out) {
  for (size_t d = 0; d < 2; ++d) {
    const int64_t reach = window->dilation[d] * (window->kernel[d] - 1) + 1;
    const int64_t room = window->sizes[d] + 2 * window->padding[d] - reach;
    ET_KERNEL_CHECK_MSG(ctx, window->kernel[d] > 0 && room >= 0, InvalidArgument, false,
                        "%s: expected a kernel within %lld padded elements, found one of %lld", op,
                        static_cast<long long>(window->sizes[d] + 2 * window->padding[d]),
                        static_cast<long long>(reach));
    window->results[d] = room / window->stride[d] + 1;
  }
  return resize_image(ctx, op, rank, is_last, window, out);
}

}  // namespace torch::executor::native::cadence
