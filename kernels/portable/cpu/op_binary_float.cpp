// SPDX-License-Identifier: BSD-3-Clause
// Functions of two numbers that models rarely use: copysign, hypot, fmax, fmin, gcd, lcm.
#include <cmath>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {
namespace {

bool check_floating(KernelRuntimeContext& ctx, const char* name, ScalarType dtype) {
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::isFloatingType(dtype), InvalidArgument, false,
                      "%s is defined on floating point, found %s", name, toString(dtype));
  return true;
}

int64_t greatest_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t remainder = trunc_remainder(a, b);
    a = b;
    b = remainder;
  }
  return absolute(a);
}

template <typename Op>
Tensor& integer_binary(KernelRuntimeContext& ctx, const char* name, const Tensor& a, const Tensor& b, Tensor& out,
                       const Op& op) {
  const ScalarType dtype = result_type({a, b});
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::isIntegralType(dtype, /*includeBool=*/false), InvalidArgument, out,
                      "%s is defined on integers, found %s", name, toString(dtype));
  ComputeType type;
  if (plan_elementwise(ctx, name, {a, b}, Promotion::Same, out, &type)) {
    elementwise<int64_t, int64_t, int64_t>(op, out, a, b);
  }
  return out;
}

}  // namespace

Tensor& copysign_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return floating_binary(ctx, "copysign.out", a, b, out, [](auto x, auto y) { return std::copysign(x, y); });
}

Tensor& hypot_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  constexpr const char* name = "hypot.out";
  return check_floating(ctx, name, result_type({a, b}))
             ? floating_binary(ctx, name, a, b, out, [](auto x, auto y) { return std::hypot(x, y); })
             : out;
}

// The other number if one is NaN.
Tensor& fmax_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return promoted_binary(ctx, "fmax.out", a, b, out, [](auto x, auto y) { return is_nan(x) || y > x ? y : x; });
}

Tensor& fmin_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return promoted_binary(ctx, "fmin.out", a, b, out, [](auto x, auto y) { return is_nan(x) || y < x ? y : x; });
}

Tensor& gcd_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return integer_binary(ctx, "gcd.out", a, b, out, [](int64_t x, int64_t y) { return greatest_common_divisor(x, y); });
}

Tensor& lcm_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return integer_binary(ctx, "lcm.out", a, b, out, [](int64_t x, int64_t y) {
    const int64_t divisor = greatest_common_divisor(x, y);
    return divisor == 0 ? 0 : absolute(wrapping_mul(trunc_divide(x, divisor), y));
  });
}

}  // namespace torch::executor::native
