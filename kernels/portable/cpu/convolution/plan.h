// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/convolution/convolution.h"
#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// The arguments of aten::convolution: each list has one value for all spatial dimensions or one for each.
struct ConvolutionParameters {
  IntArrayRef stride, padding, dilation;
  bool transposed;
  IntArrayRef output_padding;
  int64_t groups;
};

/// Checks the arguments and sets all of the convolution but its strides. `input` is (N, C, spatial...), `weight` (out
/// channels, C / groups, kernel...) or, transposed, (C, out channels / groups, kernel...). Fails with InvalidArgument.
bool plan_convolution(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight,
                      const ConvolutionParameters& parameters, Convolution* shape);

/// Computes a convolution of floats of any shape and layout; `bias` is null or has shape.out_channels elements.
using ConvolveFloats = void (*)(const Convolution& shape, const float* in, const float* weight, const float* bias,
                                float* out);

/// This library's algorithms.
void convolve_floats(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);

/// aten::convolution, with the given function for float. `op` is its name in messages.
Tensor& convolve(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight,
                 const std::optional<Tensor>& bias, const ConvolutionParameters& parameters,
                 ConvolveFloats convolve_floats, Tensor& out);

/// Copies the strides of a tensor's first two dimensions and of its spatial ones.
void copy_strides(const Tensor& tensor, int64_t* stride0, int64_t* stride1, int64_t* spatial);

}  // namespace torch::executor::native
