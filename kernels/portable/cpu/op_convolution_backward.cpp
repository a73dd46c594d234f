// SPDX-License-Identifier: BSD-3-Clause
// convolution_backward.out
#include <tuple>
#include <type_traits>

#include "kernels/portable/cpu/convolution/plan.h"
#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;
constexpr const char* kOp = "convolution_backward.out";

// The type in which sums over a whole batch are computed. Sums of integers wrap around, as in PyTorch.
template <typename T>
using LongSum = std::conditional_t<std::is_integral<T>::value, uint64_t, double>;

// The convolution from the gradient of the output of `shape` to the gradient of its input: the transposed convolution,
// with the same weight.
Convolution adjoint(const Convolution& shape) {
  Convolution result = shape;
  result.transposed = !shape.transposed;
  result.in_channels = shape.out_channels;
  result.out_channels = shape.in_channels;
  for (int d = 0; d < Convolution::kDims; ++d) {
    result.in_size[d] = shape.out_size[d];
    result.out_size[d] = shape.in_size[d];
  }
  return result;
}

// The gradient of the weight of a convolution, not transposed, from `in` to `out`: for each element of the weight the
// sum of the products of the elements that it connects.
template <typename T>
void weight_gradient(const Convolution& shape, const T* in, const T* out, T* weight) {
  using Sum = LongSum<T>;
  const int64_t in_group = shape.in_group(), out_group = shape.out_group();
  for (int64_t oc = 0; oc < shape.out_channels; ++oc) {
    for (int64_t ic = 0; ic < in_group; ++ic) {
      const T* x = in + (oc / out_group * in_group + ic) * shape.in_channel_stride;
      const T* y = out + oc * shape.out_channel_stride;
      for (int64_t tap = 0; tap < shape.taps(); ++tap) {
        const int64_t k[] = {tap / (shape.kernel_size[2] * shape.kernel_size[1]),
                             tap / shape.kernel_size[2] % shape.kernel_size[1], tap % shape.kernel_size[2]};
        Sum sum = 0;
        for (int64_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
          const int64_t o[] = {pixel / (shape.out_size[2] * shape.out_size[1]),
                               pixel / shape.out_size[2] % shape.out_size[1], pixel % shape.out_size[2]};
          int64_t in_offset = 0, out_offset = 0;
          bool is_inside = true;
          for (int d = 0; d < Convolution::kDims && is_inside; ++d) {
            const int64_t position = shape.input_position(d, o[d], k[d]);
            is_inside = position >= 0;
            in_offset += position * shape.in_stride[d];
            out_offset += o[d] * shape.out_stride[d];
          }
          for (int64_t n = 0; is_inside && n < shape.batch; ++n) {
            sum += static_cast<Sum>(x[n * shape.in_batch_stride + in_offset]) *
                   static_cast<Sum>(y[n * shape.out_batch_stride + out_offset]);
          }
        }
        weight[oc * shape.weight_stride0 + ic * shape.weight_stride1 + k[0] * shape.weight_stride[0] +
               k[1] * shape.weight_stride[1] + k[2] * shape.weight_stride[2]] =
            static_cast<T>(static_cast<AccumulateType<T>>(sum));
      }
    }
  }
}

template <typename T>
void bias_gradient(const Convolution& shape, const T* out, T* bias) {
  using Sum = LongSum<T>;
  for (int64_t oc = 0; oc < shape.out_channels; ++oc) {
    Sum sum = 0;
    for (int64_t n = 0; n < shape.batch; ++n) {
      for (int64_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
        const int64_t ow = pixel % shape.out_size[2], oh = pixel / shape.out_size[2] % shape.out_size[1];
        const int64_t od = pixel / (shape.out_size[2] * shape.out_size[1]);
        sum += static_cast<Sum>(out[n * shape.out_batch_stride + oc * shape.out_channel_stride +
                                    od * shape.out_stride[0] + oh * shape.out_stride[1] + ow * shape.out_stride[2]]);
      }
    }
    bias[oc] = static_cast<T>(static_cast<AccumulateType<T>>(sum));
  }
}

// Checks that grad_output has the shape of the convolution's result and the dtype of the input.
bool check_gradient(KernelRuntimeContext& ctx, const Tensor& gradient, const Tensor& input, const Convolution& shape) {
  bool fits =
      gradient.dim() == input.dim() && gradient.size(0) == shape.batch && gradient.size(1) == shape.out_channels;
  const ssize_t dims = input.dim() - 2;
  for (ssize_t i = 0; fits && i < dims; ++i) {
    fits = gradient.size(2 + i) == shape.out_size[Convolution::kDims - dims + i];
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: the gradient must have the shape of the convolution's result", kOp);
  return check_same_dtype(ctx, kOp, gradient, input);
}

}  // namespace

/// The gradients of input, weight and bias; output_mask says which are requested; the other outputs are not changed.
Outputs convolution_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& input,
                                 const Tensor& weight, OptionalArrayRef<int64_t> bias_sizes, IntArrayRef stride,
                                 IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                                 int64_t groups, ArrayRef<bool> output_mask, Tensor& grad_input, Tensor& grad_weight,
                                 Tensor& grad_bias) {
  (void)bias_sizes;
  const Outputs outputs(grad_input, grad_weight, grad_bias);
  Convolution shape;
  ET_KERNEL_CHECK_MSG(ctx, output_mask.size() == 3, InvalidArgument, outputs, "%s: output_mask must have 3 values",
                      kOp);
  if (!plan_convolution(ctx, kOp, input, weight, {stride, padding, dilation, transposed, output_padding, groups},
                        &shape) ||
      !check_gradient(ctx, grad_output, input, shape)) {
    return outputs;
  }
  const int64_t bias_size = shape.out_channels;
  if ((output_mask[0] &&
       (!check_same_dtype(ctx, kOp, input, grad_input) || !check_resize_like(ctx, kOp, grad_input, input))) ||
      (output_mask[1] &&
       (!check_same_dtype(ctx, kOp, input, grad_weight) || !check_resize_like(ctx, kOp, grad_weight, weight))) ||
      (output_mask[2] &&
       (!check_same_dtype(ctx, kOp, input, grad_bias) || !check_resize(ctx, kOp, grad_bias, &bias_size, 1)))) {
    return outputs;
  }
  Convolution back = adjoint(shape);
  copy_strides(grad_output, &shape.out_batch_stride, &shape.out_channel_stride, shape.out_stride);
  copy_strides(input, &shape.in_batch_stride, &shape.in_channel_stride, shape.in_stride);
  copy_strides(grad_output, &back.in_batch_stride, &back.in_channel_stride, back.in_stride);
  copy_strides(weight, &back.weight_stride0, &back.weight_stride1, back.weight_stride);
  visit_real(ctx, kOp, input.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* gradient = grad_output.const_data_ptr<T>();
    if (output_mask[0] && grad_input.numel() > 0) {
      copy_strides(grad_input, &back.out_batch_stride, &back.out_channel_stride, back.out_stride);
      convolve_direct<T, AccumulateType<T>>(back, gradient, weight.const_data_ptr<T>(), nullptr,
                                            grad_input.mutable_data_ptr<T>());
    }
    if (output_mask[1] && grad_weight.numel() > 0) {
      T* result = grad_weight.mutable_data_ptr<T>();
      Convolution& straight = transposed ? back : shape;
      if (transposed) {
        copy_strides(input, &back.out_batch_stride, &back.out_channel_stride, back.out_stride);
      }
      copy_strides(grad_weight, &straight.weight_stride0, &straight.weight_stride1, straight.weight_stride);
      const T* in = input.const_data_ptr<T>();
      weight_gradient(straight, transposed ? gradient : in, transposed ? in : gradient, result);
    }
    if (output_mask[2]) {
      bias_gradient(shape, gradient, grad_bias.mutable_data_ptr<T>());
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
