// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/convolution/plan.h"

#include <cinttypes>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

// Limits parameters, so that no product of a size and a parameter overflows int64.
constexpr int64_t kMaxParameter = int64_t(1) << 30;

// Reads parameter `d` of `dims` from a list with one value for all dimensions or one for each. Returns false if it is
// not in [least, kMaxParameter].
bool read_parameter(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef list, ssize_t dims,
                    ssize_t d, int64_t least, int64_t* value) {
  if (list.size() != 1 && list.size() != static_cast<size_t>(dims)) {
    ET_LOG(Error, "%s: %s must have 1 or %zd values, it has %zu", op, name, (ssize_t)dims, list.size());
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  *value = list[list.size() == 1 ? 0 : static_cast<size_t>(d)];
  if (*value < least || *value > kMaxParameter) {
    ET_LOG(Error, "%s: %s must be from %" PRId64 " to %" PRId64 ", it is %" PRId64, op, name, least, kMaxParameter,
           *value);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  return true;
}

bool check_tensors(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& weight,
                   const Convolution& shape) {
  const auto fail = [&ctx, op](bool holds, const char* what) {
    if (!holds) {
      ET_LOG(Error, "%s: %s", op, what);
      ctx.fail(Error::InvalidArgument);
    }
    return !holds;
  };
  if (!check_same_dtype(ctx, op, in, weight) ||
      fail(in.dim() >= 3 && in.dim() <= 5,
           "the input must have 1, 2 or 3 spatial dimensions after batch and channels") ||
      fail(weight.dim() == in.dim(), "the weight must have as many dimensions as the input") ||
      fail(shape.groups > 0 && shape.groups <= kMaxParameter, "groups must be positive")) {
    return false;
  }
  const int64_t weight_in = weight.size(shape.transposed ? 0 : 1);
  const int64_t in_channels = shape.transposed ? weight_in : weight_in * shape.groups;
  const int64_t weight_out = weight.size(shape.transposed ? 1 : 0);
  if (in.size(1) != in_channels || (shape.transposed ? weight_in : weight_out) % shape.groups != 0) {
    ET_LOG(Error, "%s: an input of %zd channels does not fit a weight of %zd x %zd filters in %" PRId64 " groups%s", op,
           (ssize_t)in.size(1), (ssize_t)weight.size(0), (ssize_t)weight.size(1), shape.groups,
           shape.transposed ? " (transposed)" : "");
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  return true;
}

// Computes the output's size along spatial dimension `d`; the parameters of `shape` are already set.
bool find_out_size(KernelRuntimeContext& ctx, const char* op, Convolution& shape, int d, int64_t output_padding) {
  const int64_t reach = shape.dilation[d] * (shape.kernel_size[d] - 1) + 1;
  int64_t size;
  if (shape.transposed) {
    size = (shape.in_size[d] - 1) * shape.stride[d] - 2 * shape.padding[d] + reach + output_padding;
  } else {
    const int64_t room = shape.in_size[d] + 2 * shape.padding[d] - reach;
    size = room < 0 ? -1 : room / shape.stride[d] + 1;
  }
  if (size < 0 || shape.kernel_size[d] == 0) {
    ET_LOG(Error,
           "%s: an input of size %" PRId64 " with padding %" PRId64 " is smaller than the kernel's reach of %" PRId64
           " in spatial dimension %d",
           op, shape.in_size[d], shape.padding[d], reach, d);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  shape.out_size[d] = size;
  return true;
}

}  // namespace

bool plan_convolution(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight,
                      const ConvolutionParameters& parameters, Convolution* shape) {
  shape->transposed = parameters.transposed;
  shape->groups = parameters.groups;
  if (!check_tensors(ctx, op, input, weight, *shape)) {
    return false;
  }
  shape->batch = input.size(0);
  shape->in_channels = input.size(1);
  shape->out_channels = parameters.transposed ? weight.size(1) * parameters.groups : weight.size(0);
  const ssize_t dims = input.dim() - 2;
  for (ssize_t i = 0; i < dims; ++i) {
    const int d = static_cast<int>(Convolution::kDims - dims + i);
    int64_t extra = 0;
    shape->in_size[d] = input.size(2 + i);
    shape->kernel_size[d] = weight.size(2 + i);
    if (!read_parameter(ctx, op, "stride", parameters.stride, dims, i, 1, &shape->stride[d]) ||
        !read_parameter(ctx, op, "padding", parameters.padding, dims, i, 0, &shape->padding[d]) ||
        !read_parameter(ctx, op, "dilation", parameters.dilation, dims, i, 1, &shape->dilation[d]) ||
        (parameters.transposed &&
         !read_parameter(ctx, op, "output_padding", parameters.output_padding, dims, i, 0, &extra)) ||
        !find_out_size(ctx, op, *shape, d, extra)) {
      return false;
    }
    // A weight without elements may have any kernel size; none of its elements is read.
    shape->kernel_size[d] = weight.numel() == 0 ? 1 : shape->kernel_size[d];
  }
  return true;
}

void copy_strides(const Tensor& tensor, int64_t* stride0, int64_t* stride1, int64_t* spatial) {
  *stride0 = tensor.strides()[0];
  *stride1 = tensor.strides()[1];
  const ssize_t dims = tensor.dim() - 2;
  for (ssize_t d = 0; d < dims; ++d) {
    spatial[Convolution::kDims - dims + d] = tensor.strides()[2 + d];
  }
}

}  // namespace torch::executor::native
