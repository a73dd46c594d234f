// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/pooling.h"

#include <cinttypes>

namespace torch::executor::native {

bool read_pool_value(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef list, size_t spatial,
                     size_t i, int64_t least, int64_t* value) {
  const int64_t limit = int64_t(1) << (spatial == 3 ? 20 : 30);
  if (list.size() == 1 || list.size() == spatial) {
    *value = list[list.size() == 1 ? 0 : i];
    if (*value >= least && *value <= limit) {
      return true;
    }
  }
  ET_LOG(Error, "%s: %s must have 1 or %zu values from %" PRId64 " to %" PRId64, op, name, spatial, least, limit);
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool read_pool_axis(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial, size_t i,
                    const PoolParameters& parameters, PoolAxis* axis) {
  const IntArrayRef stride = parameters.stride.empty() ? parameters.kernel_size : parameters.stride;
  axis->in = in.size(in.dim() - static_cast<ssize_t>(spatial - i));
  if (!read_pool_value(ctx, op, "kernel_size", parameters.kernel_size, spatial, i, 1, &axis->kernel) ||
      !read_pool_value(ctx, op, "stride", stride, spatial, i, 1, &axis->stride) ||
      !read_pool_value(ctx, op, "padding", parameters.padding, spatial, i, 0, &axis->padding) ||
      !read_pool_value(ctx, op, "dilation", parameters.dilation, spatial, i, 1, &axis->dilation)) {
    return false;
  }
  const int64_t reach = axis->dilation * (axis->kernel - 1) + 1;
  const int64_t room = axis->in + 2 * axis->padding - reach;
  const int64_t extra = parameters.ceil_mode ? axis->stride - 1 : 0;
  if (axis->padding > axis->kernel / 2 || room + extra < 0) {
    ET_LOG(Error,
           "%s: a kernel of size %" PRId64 " with padding %" PRId64
           " (at most half the kernel) does not fit an input of size %" PRId64,
           op, axis->kernel, axis->padding, axis->in);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  axis->out = (room + extra) / axis->stride + 1;
  if (parameters.ceil_mode && (axis->out - 1) * axis->stride >= axis->in + axis->padding) {
    --axis->out;
  }
  return true;
}

bool check_pool_input(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial, const Tensor& out) {
  const size_t dims = static_cast<size_t>(in.dim());
  ET_KERNEL_CHECK_MSG(ctx, dims == spatial + 1 || dims == spatial + 2, InvalidArgument, false,
                      "%s: the input must have %zu or %zu dimensions, it has %zu", op, spatial + 1, spatial + 2, dims);
  return check_same_dtype(ctx, op, in, out);
}

Span window_span(const PoolAxis& axis, int64_t o) {
  const int64_t start = axis.start(o);
  const int64_t skipped = start < 0 ? (-start + axis.dilation - 1) / axis.dilation * axis.dilation : 0;
  const int64_t end = start + (axis.kernel - 1) * axis.dilation + 1;
  return {start + skipped, end < axis.in ? end : axis.in, axis.dilation};
}

Volumes Volumes::of(const Tensor& tensor, size_t spatial) {
  Volumes result;
  const size_t first = static_cast<size_t>(tensor.dim()) - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t d = kSpatialDims - spatial + i;
    result.size[d] = tensor.size(static_cast<ssize_t>(first + i));
    result.stride[d] = tensor.strides()[first + i];
  }
  result.channels = tensor.size(static_cast<ssize_t>(first) - 1);
  result.channel_stride = tensor.strides()[first - 1];
  if (first == 2) {
    result.batch = tensor.size(0);
    result.batch_stride = tensor.strides()[0];
  }
  return result;
}

bool check_resize_volumes(KernelRuntimeContext& ctx, const char* op, Tensor& out, const Tensor& in, size_t spatial,
                          const int64_t (&sizes)[kSpatialDims]) {
  int64_t shape[kSpatialDims + 2];
  const size_t dims = static_cast<size_t>(in.dim());
  for (size_t d = 0; d < dims; ++d) {
    shape[d] = d < dims - spatial ? in.size(static_cast<ssize_t>(d)) : sizes[kSpatialDims - dims + d];
  }
  return check_resize(ctx, op, out, shape, dims);
}

}  // namespace torch::executor::native
