// SPDX-License-Identifier: BSD-3-Clause
// convolution.out
#include "kernels/optimized/cpu/convolution/convolution.h"
#include "kernels/portable/cpu/convolution/plan.h"

namespace torch::executor::native {
namespace {

void convolve_fast(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  if (!convolve_planes(shape, in, weight, bias, out) && !convolve_columns(shape, in, weight, bias, out) &&
      !convolve_transposed(shape, in, weight, bias, out)) {
    convolve_floats(shape, in, weight, bias, out);
  }
}

}  // namespace

Tensor& opt_convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                            const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
                            Tensor& out) {
  return convolve(ctx, "convolution.out", input, weight, bias,
                  {stride, padding, dilation, transposed, output_padding, groups}, convolve_fast, out);
}

}  // namespace torch::executor::native
