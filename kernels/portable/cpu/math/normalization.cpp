// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/normalization.h"

#include <cinttypes>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

// Checks weight or bias: it must be absent, or have `count` elements of the input's dtype.
bool check_affine(KernelRuntimeContext& ctx, const char* op, const char* name, const std::optional<Tensor>& tensor,
                  const Tensor& in, int64_t count) {
  if (!tensor || (tensor->scalar_type() == in.scalar_type() && tensor->numel() == count)) {
    return true;
  }
  ET_LOG(Error, "%s: the %s must have %" PRId64 " elements of dtype %s, it has %zd of dtype %s", op, name, count,
         toString(in.scalar_type()), (ssize_t)tensor->numel(), toString(tensor->scalar_type()));
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool check_statistic(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& statistic) {
  return statistic.scalar_type() == ScalarType::Float || check_same_dtype(ctx, op, in, statistic);
}

// Whether the elements are in row-major order. The positions of dimensions of size 1 in the dim order do not matter.
bool is_row_major(const Tensor& tensor) {
  ssize_t last = -1;
  for (const auto d : tensor.dim_order()) {
    if (tensor.size(static_cast<ssize_t>(d)) == 1) {
      continue;
    }
    if (static_cast<ssize_t>(d) < last) {
      return false;
    }
    last = static_cast<ssize_t>(d);
  }
  return true;
}

bool is_channels_last(const Tensor& tensor) {
  return executorch::runtime::is_channels_last_dim_order(tensor.dim_order().data(), tensor.dim_order().size());
}

bool read_layout(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& out, NormLayout* layout) {
  int64_t pixels = 1;
  for (ssize_t d = 2; d < in.dim(); ++d) {
    pixels *= in.size(d);
  }
  // The functions of tensor_util.h log an error if they return false, but here only one of the two must be true.
  const bool plain = in.dim() >= 2 && are_contiguous(in, out);
  const bool channels_last = in.dim() >= 3 && is_channels_last(in) && is_channels_last(out);
  if (!plain && !channels_last) {
    ET_LOG(Error,
           "%s: the input needs 2 dimensions or more, in the default or the channels last dim order like the output",
           op);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  // Without elements the batch may have any number of empty images: skip them.
  layout->batch = in.numel() == 0 ? 0 : in.size(0);
  layout->channels = in.size(1);
  layout->pixels = pixels;
  layout->batch_stride = layout->channels * layout->pixels;
  layout->channel_stride = plain ? layout->pixels : 1;
  layout->pixel_stride = plain ? 1 : layout->channels;
  return true;
}

bool check_by_channel(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor,
                      const Tensor& in) {
  if (tensor.dim() == 1 && tensor.size(0) == in.size(1) && tensor.scalar_type() == in.scalar_type()) {
    return true;
  }
  ET_LOG(Error, "%s: %s must be a vector of %zd elements of dtype %s", op, name, (ssize_t)in.size(1),
         toString(in.scalar_type()));
  ctx.fail(Error::InvalidArgument);
  return false;
}

}  // namespace

bool are_contiguous(const Tensor& in, const Tensor& out) {
  return is_row_major(in) && is_row_major(out);
}

bool plan_layer_norm(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                     const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out, int64_t* rows, int64_t* width) {
  const char* op = "native_layer_norm.out";
  const ssize_t first = in.dim() - static_cast<ssize_t>(normalized_shape.size());
  bool fits = first >= 0 && !normalized_shape.empty();
  *rows = *width = 1;
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; fits && d < in.dim(); ++d) {
    fits = d < first || normalized_shape[static_cast<size_t>(d - first)] == in.size(d);
    *(d < first ? rows : width) *= in.size(d);
    sizes[d] = d < first ? in.size(d) : 1;
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: normalized_shape must be the last sizes of the input, one or more of them", op);
  return check_same_dtype(ctx, op, in, out) && check_statistic(ctx, op, in, mean_out) &&
         check_statistic(ctx, op, in, rstd_out) && check_affine(ctx, op, "weight", weight, in, *width) &&
         check_affine(ctx, op, "bias", bias, in, *width) && check_resize_like(ctx, op, out, in) &&
         check_resize(ctx, op, mean_out, sizes, static_cast<size_t>(in.dim())) &&
         check_resize(ctx, op, rstd_out, sizes, static_cast<size_t>(in.dim()));
}

bool plan_group_norm(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out) {
  const char* op = "native_group_norm.out";
  ET_KERNEL_CHECK_MSG(ctx,
                      in.dim() >= 2 && in.size(0) == n && in.size(1) == c && group > 0 && c % group == 0 && hxw >= 0 &&
                          (n * c == 0 ? in.numel() == 0 : in.numel() / (n * c) == hxw && in.numel() % (n * c) == 0),
                      InvalidArgument, false,
                      "%s: N=%" PRId64 ", C=%" PRId64 ", HxW=%" PRId64 " in %" PRId64
                      " groups do not describe the input",
                      op, n, c, hxw, group);
  const int64_t sizes[2] = {n, group};
  return check_same_dtype(ctx, op, in, out) && check_statistic(ctx, op, in, mean_out) &&
         check_statistic(ctx, op, in, rstd_out) && check_affine(ctx, op, "weight", weight, in, c) &&
         check_affine(ctx, op, "bias", bias, in, c) && check_resize_like(ctx, op, out, in) &&
         check_resize(ctx, op, mean_out, sizes, 2) && check_resize(ctx, op, rstd_out, sizes, 2);
}

bool plan_batch_norm(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const Tensor* running_mean, const Tensor* running_var,
                     bool training, Tensor& out, Tensor& save_mean, Tensor& save_invstd, NormLayout* layout) {
  if (!check_same_dtype(ctx, op, in, out) || !check_same_dtype(ctx, op, in, save_mean) ||
      !check_same_dtype(ctx, op, in, save_invstd) || !check_resize_like(ctx, op, out, in) ||
      !read_layout(ctx, op, in, out, layout) || (weight && !check_by_channel(ctx, op, "weight", *weight, in)) ||
      (bias && !check_by_channel(ctx, op, "bias", *bias, in)) ||
      (running_mean != nullptr && !check_by_channel(ctx, op, "running_mean", *running_mean, in)) ||
      (running_var != nullptr && !check_by_channel(ctx, op, "running_var", *running_var, in))) {
    return false;
  }
  const int64_t saved = training ? layout->channels : 0;
  return check_resize(ctx, op, save_mean, &saved, 1) && check_resize(ctx, op, save_invstd, &saved, 1);
}

}  // namespace torch::executor::native
