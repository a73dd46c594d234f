// SPDX-License-Identifier: BSD-3-Clause
// Functions of one variable that keep the dtype: abs, neg, sign, relu and the roundings.
#include <cmath>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {

#define DEFINE_UNARY(kernel, name, value)                                      \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {   \
    return promoted_unary(ctx, name, in, out, [](auto x) { return (value); }); \
  }

// Rounding does not change integers.
#define DEFINE_ROUNDING(kernel, name, function)                              \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) { \
    return promoted_unary(ctx, name, in, out, [](auto x) {                   \
      if constexpr (is_integer<decltype(x)>) {                               \
        return x;                                                            \
      } else {                                                               \
        return function(x);                                                  \
      }                                                                      \
    });                                                                      \
  }

DEFINE_UNARY(relu_out, "relu.out", x < 0 ? decltype(x)(0) : x)
DEFINE_UNARY(sign_out, "sign.out", static_cast<decltype(x)>((x > 0) - (x < 0)))
DEFINE_ROUNDING(ceil_out, "ceil.out", std::ceil)
DEFINE_ROUNDING(floor_out, "floor.out", std::floor)
DEFINE_ROUNDING(round_out, "round.out", std::nearbyint)  // halves are rounded to even
DEFINE_ROUNDING(trunc_out, "trunc.out", std::trunc)

Tensor& neg_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  constexpr const char* name = "neg.out";
  ET_KERNEL_CHECK_MSG(ctx, in.scalar_type() != ScalarType::Bool, InvalidArgument, out,
                      "%s: a bool has no negative; use logical_not to invert it", name);
  if (has_complex({in})) {
    return complex_unary(ctx, name, in, out, [](Complex x) { return -x; });
  }
  return promoted_unary(ctx, name, in, out, [](auto x) { return negative(x); });
}

/// The absolute value of a complex number is real.
Tensor& abs_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  if (has_complex({in})) {
    return complex_elementwise(ctx, "abs.out", {in}, ComplexResult::Real, out,
                               [](const Complex* x) { return std::abs(x[0]); });
  }
  return promoted_unary(ctx, "abs.out", in, out, [](auto x) { return absolute(x); });
}

namespace {

template <typename Op>
Tensor& classify(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out, const Op& op) {
  if (has_complex({in})) {
    return complex_elementwise(ctx, name, {in}, ComplexResult::Bool, out,
                               [&](const Complex* x) { return op(x->real()) || op(x->imag()) ? 1.0 : 0.0; });
  }
  ComputeType type;
  if (plan_elementwise(ctx, name, {in}, Promotion::ToBool, out, &type)) {
    with_arithmetic_type(type, [&](auto zero) { elementwise<uint8_t, decltype(zero)>(op, out, in); });
  }
  return out;
}

}  // namespace

Tensor& isnan_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return classify(ctx, "isnan.out", in, out, [](auto x) { return is_nan(x); });
}

Tensor& isinf_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return classify(ctx, "isinf.out", in, out, [](auto x) {
    // Infinity minus itself is NaN; x itself must not be NaN.
    return !is_integer<decltype(x)> && !is_nan(x) && is_nan(x - x);
  });
}

Tensor& signbit_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return classify(ctx, "signbit.out", in, out, [](auto x) {
    if constexpr (is_integer<decltype(x)>) {
      return x < 0;
    } else {
      return std::signbit(x);
    }
  });
}

}  // namespace torch::executor::native
