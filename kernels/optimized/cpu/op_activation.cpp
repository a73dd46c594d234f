// SPDX-License-Identifier: BSD-3-Clause
// exp, sigmoid, tanh, gelu, sqrt, rsqrt and squares.
#include <string_view>

#include "kernels/optimized/cpu/elementwise/float_elementwise.h"
#include "kernels/portable/NativeFunctions.h"

namespace torch::executor::native {

#define DEFINE_FUNCTION(kernel, name, block, portable_kernel)                                      \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {                       \
    return float_elementwise(ctx, name, {in}, {block}, out) ? out : portable_kernel(ctx, in, out); \
  }

DEFINE_FUNCTION(opt_exp_out, "exp.out", float_exp, exp_out)
DEFINE_FUNCTION(opt_sigmoid_out, "sigmoid.out", float_sigmoid, sigmoid_out)
DEFINE_FUNCTION(opt_tanh_out, "tanh.out", float_tanh, tanh_out)
DEFINE_FUNCTION(opt_sqrt_out, "sqrt.out", float_sqrt, sqrt_out)
DEFINE_FUNCTION(opt_rsqrt_out, "rsqrt.out", float_rsqrt, rsqrt_out)

Tensor& opt_gelu_out(KernelRuntimeContext& ctx, const Tensor& in, std::string_view approximate, Tensor& out) {
  const bool is_tanh = approximate == "tanh";
  return (is_tanh || approximate == "none") &&
                 float_elementwise(ctx, "gelu.out", {in}, {is_tanh ? float_gelu_tanh : float_gelu}, out)
             ? out
             : gelu_out(ctx, in, approximate, out);
}

Tensor& opt_pow_Tensor_Scalar_out(KernelRuntimeContext& ctx, const Tensor& in, const Scalar& exponent, Tensor& out) {
  return scalar_to<double>(exponent) == 2 && float_elementwise(ctx, "pow.Tensor_Scalar_out", {in}, {float_square}, out)
             ? out
             : pow_Tensor_Scalar_out(ctx, in, exponent, out);
}

}  // namespace torch::executor::native
