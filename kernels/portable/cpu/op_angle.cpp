// SPDX-License-Identifier: BSD-3-Clause
// angle.out: the angle of a number in the complex plane. The angle of a real number is pi if it is negative, NaN if it
// is NaN, else 0.
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {

Tensor& angle_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  if (has_complex({in})) {
    return complex_elementwise(ctx, "angle.out", {in}, ComplexResult::Real, out,
                               [](const Complex* x) { return std::arg(x[0]); });
  }
  return floating_unary(ctx, "angle.out", in, out, [](auto x) {
    using C = decltype(x);
    return x < 0 ? static_cast<C>(3.141592653589793) : x != x ? x : C(0);
  });
}

}  // namespace torch::executor::native
