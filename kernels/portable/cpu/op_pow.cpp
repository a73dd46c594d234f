// SPDX-License-Identifier: BSD-3-Clause
// pow between tensors and numbers, and atan2.
#include <cmath>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

template <typename C>
C power(C base, C exponent) {
  if constexpr (is_integer<C>) {
    if (exponent < 0) {  // the power is truncated to an integer
      return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
    C result = 1;
    for (; exponent != 0; exponent >>= 1) {
      result = exponent & 1 ? wrapping_mul(result, base) : result;
      base = wrapping_mul(base, base);
    }
    return result;
  } else {
    return std::pow(base, exponent);
  }
}

Tensor& pow(KernelRuntimeContext& ctx, const char* name, Operand base, Operand exponent, Tensor& out) {
  if (has_complex({base, exponent})) {
    return complex_elementwise(ctx, name, {base, exponent}, ComplexResult::Promoted, out,
                               [](const Complex* x) { return std::pow(x[0], x[1]); });
  }
  return promoted_binary(ctx, name, base, exponent, out, [](auto x, auto y) { return power(x, y); });
}

}  // namespace

Tensor& pow_Tensor_Tensor_out(KernelRuntimeContext& ctx, const Tensor& base, const Tensor& exponent, Tensor& out) {
  return pow(ctx, "pow.Tensor_Tensor_out", base, exponent, out);
}

Tensor& pow_Scalar_out(KernelRuntimeContext& ctx, const Scalar& base, const Tensor& exponent, Tensor& out) {
  return pow(ctx, "pow.Scalar_out", base, exponent, out);
}

Tensor& pow_Tensor_Scalar_out(KernelRuntimeContext& ctx, const Tensor& base, const Scalar& exponent, Tensor& out) {
  constexpr const char* name = "pow.Tensor_Scalar_out";
  if (has_complex({base})) {
    return pow(ctx, name, base, exponent, out);
  }
  const ScalarType dtype = result_type({base, exponent});
  const double value = scalar_to<double>(exponent);
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::isFloatingType(dtype) || value >= 0, InvalidArgument, out,
                      "%s: integers cannot be raised to the negative power %g; use a floating-point base", name, value);
  // The exponents that models use have cheap exact forms.
  if (value == 2) {
    ComputeType type;
    if (plan_elementwise(ctx, name, {base, exponent}, Promotion::Same, out, &type)) {
      with_arithmetic_type(type, [&](auto zero) {
        elementwise<decltype(zero), decltype(zero)>([](auto x) { return wrapping_mul(x, x); }, Output(out, dtype),
                                                    base);
      });
    }
    return out;
  }
  // PyTorch computes roots of float16 as other powers: -inf has the square root inf, and -0 has 0.
  if ((value == 0.5 || value == -0.5) && dtype != ScalarType::Half) {
    const bool inverse = value < 0;
    ComputeType type;
    if (plan_elementwise(ctx, name, {base, exponent}, Promotion::Same, out, &type)) {
      with_floating_type(type, [&](auto zero) {
        using C = decltype(zero);
        elementwise<C, C>([inverse](C x) { return inverse ? C(1) / std::sqrt(x) : std::sqrt(x); }, Output(out, dtype),
                          base);
      });
    }
    return out;
  }
  return pow(ctx, name, base, exponent, out);
}

Tensor& atan2_out(KernelRuntimeContext& ctx, const Tensor& y, const Tensor& x, Tensor& out) {
  return floating_binary(ctx, "atan2.out", y, x, out, [](auto a, auto b) { return std::atan2(a, b); });
}

}  // namespace torch::executor::native
