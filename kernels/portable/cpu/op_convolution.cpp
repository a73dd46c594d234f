// SPDX-License-Identifier: BSD-3-Clause
// convolution.out: 1, 2 or 3 spatial dimensions, groups, dilation, transposed, any dim order.
#include <cinttypes>

#include "kernels/portable/cpu/convolution/convolution.h"
#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

constexpr const char* kOp = "convolution.out";
// Keeps every product of a size and a parameter far from the limits of int64.
constexpr int64_t kMaxParameter = int64_t(1) << 30;

// Parameter `d` of `dims`, where a list of one value means all dimensions. False when it is not in [least,
// kMaxParameter].
bool read_parameter(KernelRuntimeContext& ctx, const char* name, IntArrayRef list, ssize_t dims, ssize_t d,
                    int64_t least, int64_t* value) {
  if (list.size() != 1 && list.size() != static_cast<size_t>(dims)) {
    ET_LOG(Error, "%s: %s must have 1 or %zd values, it has %zu", kOp, name, (ssize_t)dims, list.size());
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  *value = list[list.size() == 1 ? 0 : static_cast<size_t>(d)];
  if (*value < least || *value > kMaxParameter) {
    ET_LOG(Error, "%s: %s must be at least %" PRId64 ", it is %" PRId64, kOp, name, least, *value);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  return true;
}

bool check_tensors(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& weight, const std::optional<Tensor>& bias,
                   const Tensor& out, const Convolution& shape) {
  const auto fail = [&ctx](bool holds, const char* what) {
    if (!holds) {
      ET_LOG(Error, "%s: %s", kOp, what);
      ctx.fail(Error::InvalidArgument);
    }
    return !holds;
  };
  if (!check_same_dtype(ctx, kOp, in, weight) || !check_same_dtype(ctx, kOp, in, out) ||
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
    ET_LOG(Error, "%s: an input of %zd channels does not fit a weight of %zd x %zd filters in %" PRId64 " groups%s",
           kOp, (ssize_t)in.size(1), (ssize_t)weight.size(0), (ssize_t)weight.size(1), shape.groups,
           shape.transposed ? " (transposed)" : "");
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  const int64_t out_channels = shape.transposed ? weight_out * shape.groups : weight_out;
  return !bias || (check_same_dtype(ctx, kOp, in, *bias) &&
                   !fail(bias->dim() == 1 && bias->size(0) == out_channels,
                         "the bias must be a vector with one element for each output channel"));
}

// The size of the output along spatial dimension `d`, with shape's parameters read.
bool find_out_size(KernelRuntimeContext& ctx, Convolution& shape, int d, int64_t output_padding) {
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
           kOp, shape.in_size[d], shape.padding[d], reach, d);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  shape.out_size[d] = size;
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

void convolve_float(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  if (!convolve_depthwise(shape, in, weight, bias, out) && !convolve_gemm(shape, in, weight, bias, out) &&
      !convolve_transposed_gemm(shape, in, weight, bias, out)) {
    convolve_direct<float, float>(shape, in, weight, bias, out);
  }
}

}  // namespace

/// input (N, C, spatial...), weight (out channels, C / groups, kernel...) or, transposed, (C, out channels / groups,
/// kernel...), out (N, out channels, spatial...). stride, padding, dilation, output_padding: one value or one a spatial
/// dimension.
Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
                        Tensor& out) {
  Convolution shape;
  shape.transposed = transposed;
  shape.groups = groups;
  if (!check_tensors(ctx, input, weight, bias, out, shape)) {
    return out;
  }
  shape.batch = input.size(0);
  shape.in_channels = input.size(1);
  shape.out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  int64_t sizes[Convolution::kDims + 2] = {shape.batch, shape.out_channels};
  const ssize_t dims = input.dim() - 2;
  for (ssize_t i = 0; i < dims; ++i) {
    const int d = static_cast<int>(Convolution::kDims - dims + i);
    int64_t extra = 0;
    shape.in_size[d] = input.size(2 + i);
    shape.kernel_size[d] = weight.size(2 + i);
    if (!read_parameter(ctx, "stride", stride, dims, i, 1, &shape.stride[d]) ||
        !read_parameter(ctx, "padding", padding, dims, i, 0, &shape.padding[d]) ||
        !read_parameter(ctx, "dilation", dilation, dims, i, 1, &shape.dilation[d]) ||
        (transposed && !read_parameter(ctx, "output_padding", output_padding, dims, i, 0, &extra)) ||
        !find_out_size(ctx, shape, d, extra)) {
      return out;
    }
    sizes[2 + i] = shape.out_size[d];
    // A weight without elements still has a kernel, possibly a huge one, of which nothing is ever read.
    shape.kernel_size[d] = weight.numel() == 0 ? 1 : shape.kernel_size[d];
  }
  if (!check_resize(ctx, kOp, out, sizes, static_cast<size_t>(dims + 2)) || out.numel() == 0) {
    return out;
  }
  copy_strides(input, &shape.in_batch_stride, &shape.in_channel_stride, shape.in_stride);
  copy_strides(out, &shape.out_batch_stride, &shape.out_channel_stride, shape.out_stride);
  copy_strides(weight, &shape.weight_stride0, &shape.weight_stride1, shape.weight_stride);

  visit_real(ctx, kOp, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* in_data = input.const_data_ptr<T>();
    const T* weight_data = weight.const_data_ptr<T>();
    const T* bias_data = bias ? bias->const_data_ptr<T>() : nullptr;
    T* out_data = out.mutable_data_ptr<T>();
    if constexpr (std::is_same_v<T, float>) {
      convolve_float(shape, in_data, weight_data, bias_data, out_data);
    } else {
      convolve_direct<T, AccumulateType<T>>(shape, in_data, weight_data, bias_data, out_data);
    }
  });
  return out;
}

}  // namespace torch::executor::native
