// SPDX-License-Identifier: BSD-3-Clause
// clamp.out, clamp.Tensor_out, hardtanh, maximum, minimum. A NaN among the values or the bounds gives NaN.
#include <cmath>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/elementwise.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"

namespace torch::executor::native {
namespace {

// The comparisons keep a NaN in `x`; one in a bound reaches the result through nan_max and nan_min.
void clamp_as(ComputeType type, Operand x, Operand low, Operand high, const Output& out) {
  with_arithmetic_type(type, [&](auto zero) {
    using C = decltype(zero);
    elementwise<C, C, C, C>([](C v, C lo, C hi) { return nan_min(nan_max(v, lo), hi); }, out, x, low, high);
  });
}

Tensor& clamp_between(KernelRuntimeContext& ctx, const char* name, Operand x, Operand low, Operand high, Tensor& out) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {x, low, high}, Promotion::Same, out, &type)) {
    clamp_as(type, x, low, high, out);
  }
  return out;
}

Tensor& larger(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  return promoted_binary(ctx, name, a, b, out, [](auto x, auto y) { return nan_max(x, y); });
}

Tensor& smaller(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  return promoted_binary(ctx, name, a, b, out, [](auto x, auto y) { return nan_min(x, y); });
}

// Either bound may be missing, but not both.
template <typename Bound>
Tensor& clamp(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const std::optional<Bound>& min,
              const std::optional<Bound>& max, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, min.has_value() || max.has_value(), InvalidArgument, out,
                      "%s: neither min nor max is given; at least one is needed", name);
  return !max.has_value()   ? larger(ctx, name, in, *min, out)
         : !min.has_value() ? smaller(ctx, name, in, *max, out)
                            : clamp_between(ctx, name, in, *min, *max, out);
}

}  // namespace

Tensor& clamp_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max, Tensor& out) {
  constexpr const char* name = "clamp.out";
  for (const std::optional<Scalar>* bound : {&min, &max}) {
    if (bound->has_value() && !check_scalar_range(ctx, name, **bound, out.scalar_type())) {
      return out;
    }
  }
  return clamp(ctx, name, in, min, max, out);
}

Tensor& clamp_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& min,
                         const std::optional<Tensor>& max, Tensor& out) {
  return clamp(ctx, "clamp.Tensor_out", in, min, max, out);
}

Tensor& hardtanh_out(KernelRuntimeContext& ctx, const Tensor& in, const Scalar& min, const Scalar& max, Tensor& out) {
  constexpr const char* name = "hardtanh.out";
  // Unlike those of clamp, the bounds are cast to the dtype of the input: -0.5 is 0 for bytes.
  const bool negative = scalar_to<double>(min) <= -1 || scalar_to<double>(max) <= -1;
  ET_KERNEL_CHECK_MSG(ctx, in.scalar_type() != ScalarType::Bool && (in.scalar_type() != ScalarType::Byte || !negative),
                      InvalidArgument, out, "%s: a bool input, or a negative bound of an unsigned one, has no result",
                      name);
  const auto bound = [&](const Scalar& scalar) {
    return scalar.isFloatingPoint() && isIntegralType(in.scalar_type(), /*includeBool=*/false)
               ? Scalar(std::trunc(scalar.to<double>()))
               : scalar;
  };
  const Scalar low = bound(min), high = bound(max);
  ComputeType type;
  if (check_scalar_range(ctx, name, low, in.scalar_type()) && check_scalar_range(ctx, name, high, in.scalar_type()) &&
      plan_elementwise(ctx, name, {in}, Promotion::Same, out, &type)) {
    clamp_as(type, in, low, high, Output(out, in.scalar_type()));
  }
  return out;
}

Tensor& maximum_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return larger(ctx, "maximum.out", a, b, out);
}

Tensor& minimum_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return smaller(ctx, "minimum.out", a, b, out);
}

}  // namespace torch::executor::native
