// SPDX-License-Identifier: BSD-3-Clause
// exp, sigmoid, tanh, gelu, sqrt, rsqrt and squares.
#include <string_view>

#include "kernels/optimized/cpu/elementwise/float_elementwise.h"
#include "kernels/portable/NativeFunctions.h"

namespace torch::executor::native {

#define DEFINE_FUNCTION(function, name)                                                                      \
  Tensor& function(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {                               \
    return float_elementwise(ctx, #name ".out", {in}, {float_##name}, out) ? out : name##_out(ctx, in, out); \
  }

DEFINE_FUNCTION(opt_exp_out, exp)
DEFINE_FUNCTION(opt_sigmoid_out, sigmoid)
DEFINE_FUNCTION(opt_tanh_out, tanh)
DEFINE_FUNCTION(opt_sqrt_out, sqrt)
DEFINE_FUNCTION(opt_rsqrt_out, rsqrt)

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
