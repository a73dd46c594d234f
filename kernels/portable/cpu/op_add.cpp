// SPDX-License-Identifier: BSD-3-Clause
// add.out, add.Scalar_out, sub.out, sub.Scalar_out, rsub.Scalar_out: a + alpha * b and a - alpha * b.
#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::isIntegralType;

template <bool is_sub>
Tensor& add_scaled(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, const Scalar& alpha,
                   Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, !alpha.isFloatingPoint() || !isIntegralType(result_type({a, b}), /*includeBool=*/true),
                      InvalidArgument, out, "%s: alpha must be an integer because the inputs are integers", name);
  ET_KERNEL_CHECK_MSG(ctx, !is_sub || result_type({a, b}) != ScalarType::Bool, InvalidArgument, out,
                      "%s: subtraction of bool tensors is not defined; use bitwise_xor or logical_not", name);
  if (has_complex({a, b})) {
    const double scale = is_sub ? -scalar_to<double>(alpha) : scalar_to<double>(alpha);
    return complex_elementwise(ctx, name, {a, b}, ComplexResult::Promoted, out,
                               [scale](const Complex* x) { return x[0] + scale * x[1]; });
  }
  ComputeType type;
  if (!plan_elementwise(ctx, name, {a, b}, Promotion::Same, out, &type)) {
    return out;
  }
  with_arithmetic_type(type, [&](auto zero) {
    using C = decltype(zero);
    C factor = scalar_to<C>(alpha);
    if constexpr (kRoundsResults) {
      if (const Rounding rounding{type, result_type({a, b})}) {
        uint64_t element;
        rounding.apply(&factor, &element, 1);
      }
    }
    const C scale = is_sub ? negative(factor) : factor;
    elementwise<C, C, C>([scale](C x, C y) { return wrapping_add(x, wrapping_mul(scale, y)); }, out, a, b);
  });
  return out;
}

}  // namespace

Tensor& add_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  return add_scaled<false>(ctx, "add.out", a, b, alpha, out);
}

Tensor& add_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  return add_scaled<false>(ctx, "add.Scalar_out", a, b, alpha, out);
}

Tensor& sub_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  return add_scaled<true>(ctx, "sub.out", a, b, alpha, out);
}

Tensor& sub_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  return add_scaled<true>(ctx, "sub.Scalar_out", a, b, alpha, out);
}

Tensor& rsub_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, const Scalar& alpha, Tensor& out) {
  return add_scaled<true>(ctx, "rsub.Scalar_out", b, a, alpha, out);
}

}  // namespace torch::executor::native
