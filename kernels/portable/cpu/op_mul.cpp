// SPDX-License-Identifier: BSD-3-Clause
// mul.out, mul.Scalar_out
#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

// When PyTorch multiplies float16 by a number or a tensor without dimensions, that factor stays in float32.
constexpr unsigned kExactFactors = 0b11;

Tensor& mul(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  if (has_complex({a, b})) {
    return complex_elementwise(ctx, name, {a, b}, ComplexResult::Promoted, out,
                               [](const Complex* x) { return multiply(x[0], x[1]); });
  }
  return promoted_binary(ctx, name, a, b, out, [](auto x, auto y) { return wrapping_mul(x, y); }, kExactFactors);
}

}  // namespace

Tensor& mul_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return mul(ctx, "mul.out", a, b, out);
}

Tensor& mul_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return mul(ctx, "mul.Scalar_out", a, b, out);
}

}  // namespace torch::executor::native
