// SPDX-License-Identifier: BSD-3-Clause
// convolution.out: 1, 2 or 3 spatial dimensions, groups, dilation, transposed, any dim order.
#include "kernels/portable/cpu/convolution/plan.h"
#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

void convolve_floats(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  if (!convolve_depthwise(shape, in, weight, bias, out) && !convolve_gemm(shape, in, weight, bias, out) &&
      !convolve_transposed_gemm(shape, in, weight, bias, out)) {
    convolve_direct<float, float>(shape, in, weight, bias, out);
  }
}

Tensor& convolve(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight,
                 const std::optional<Tensor>& bias, const ConvolutionParameters& parameters,
                 ConvolveFloats convolve_floats, Tensor& out) {
  Convolution shape;
  if (!check_same_dtype(ctx, op, input, out) || !plan_convolution(ctx, op, input, weight, parameters, &shape) ||
      (bias && !check_same_dtype(ctx, op, input, *bias))) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, !bias || (bias->dim() == 1 && bias->size(0) == shape.out_channels), InvalidArgument, out,
                      "%s: the bias must be a vector with one element for each output channel", op);
  int64_t sizes[Convolution::kDims + 2] = {shape.batch, shape.out_channels};
  const ssize_t dims = input.dim() - 2;
  for (ssize_t i = 0; i < dims; ++i) {
    sizes[2 + i] = shape.out_size[Convolution::kDims - dims + i];
  }
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(dims + 2)) || out.numel() == 0) {
    return out;
  }
  copy_strides(input, &shape.in_batch_stride, &shape.in_channel_stride, shape.in_stride);
  copy_strides(out, &shape.out_batch_stride, &shape.out_channel_stride, shape.out_stride);
  copy_strides(weight, &shape.weight_stride0, &shape.weight_stride1, shape.weight_stride);

  visit_real(ctx, op, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* in_data = input.const_data_ptr<T>();
    const T* weight_data = weight.const_data_ptr<T>();
    const T* bias_data = bias ? bias->const_data_ptr<T>() : nullptr;
    T* out_data = out.mutable_data_ptr<T>();
    if constexpr (std::is_same_v<T, float>) {
      convolve_floats(shape, in_data, weight_data, bias_data, out_data);
    } else {
      convolve_direct<T, AccumulateType<T>>(shape, in_data, weight_data, bias_data, out_data);
    }
  });
  return out;
}

/// input (N, C, spatial...), weight (out channels, C / groups, kernel...) or, transposed, (C, out channels / groups,
/// kernel...), out (N, out channels, spatial...). stride, padding, dilation, output_padding: one value, or one for
/// each spatial dimension.
Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
                        Tensor& out) {
  return convolve(ctx, "convolution.out", input, weight, bias,
                  {stride, padding, dilation, transposed, output_padding, groups}, convolve_floats, out);
}

}  // namespace torch::executor::native
