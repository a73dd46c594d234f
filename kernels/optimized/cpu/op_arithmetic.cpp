// SPDX-License-Identifier: BSD-3-Clause
// add, sub, mul and div with tensors and scalars; clamp, hardtanh, relu.
#include <cmath>
#include <limits>

#include "kernels/optimized/cpu/elementwise/float_elementwise.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"

namespace torch::executor::native {
namespace {

// Returns false if a bound is NaN: all results must then be NaN, which the comparisons of float_clamp do not give.
bool clamp_floats(KernelRuntimeContext& ctx, const char* name, const Tensor& in, float low, float high, Tensor& out) {
  return !std::isnan(low) && !std::isnan(high) && float_elementwise(ctx, name, {in}, {float_clamp, {low, high}}, out);
}

// Whether float_clamp can use the bound; the portable kernel refuses others.
bool is_float_bound(const std::optional<Scalar>& bound) {
  return !bound.has_value() || is_in_scalar_range(*bound, ScalarType::Float);
}

}  // namespace

Tensor& opt_add_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  return float_elementwise(ctx, "add.out", {a, b}, {float_add_scaled, {scalar_to<float>(alpha)}}, out)
             ? out
             : add_out(ctx, a, b, alpha, out);
}

Tensor& opt_add_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, const Scalar& alpha,
                           Tensor& out) {
  return float_elementwise(ctx, "add.Scalar_out", {a, b}, {float_add_scaled, {scalar_to<float>(alpha)}}, out)
             ? out
             : add_scalar_out(ctx, a, b, alpha, out);
}

Tensor& opt_sub_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& out) {
  return float_elementwise(ctx, "sub.out", {a, b}, {float_add_scaled, {-scalar_to<float>(alpha)}}, out)
             ? out
             : sub_out(ctx, a, b, alpha, out);
}

Tensor& opt_sub_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, const Scalar& alpha,
                           Tensor& out) {
  return float_elementwise(ctx, "sub.Scalar_out", {a, b}, {float_add_scaled, {-scalar_to<float>(alpha)}}, out)
             ? out
             : sub_scalar_out(ctx, a, b, alpha, out);
}

Tensor& opt_mul_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return float_elementwise(ctx, "mul.out", {a, b}, {float_mul}, out) ? out : mul_out(ctx, a, b, out);
}

Tensor& opt_mul_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return float_elementwise(ctx, "mul.Scalar_out", {a, b}, {float_mul}, out) ? out : mul_scalar_out(ctx, a, b, out);
}

Tensor& opt_div_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return float_elementwise(ctx, "div.out", {a, b}, {float_div}, out) ? out : div_out(ctx, a, b, out);
}

Tensor& opt_div_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return float_elementwise(ctx, "div.Scalar_out", {a, b}, {float_div}, out) ? out : div_scalar_out(ctx, a, b, out);
}

Tensor& opt_clamp_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max, Tensor& out) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!is_float_bound(min) || !is_float_bound(max)) {
    return clamp_out(ctx, in, min, max, out);
  }
  const float low = min.has_value() ? scalar_to<float>(*min) : -kInfinity;
  const float high = max.has_value() ? scalar_to<float>(*max) : kInfinity;
  return (min.has_value() || max.has_value()) && clamp_floats(ctx, "clamp.out", in, low, high, out)
             ? out
             : clamp_out(ctx, in, min, max, out);
}

Tensor& opt_hardtanh_out(KernelRuntimeContext& ctx, const Tensor& in, const Scalar& min, const Scalar& max,
                         Tensor& out) {
  return is_float_bound(min) && is_float_bound(max) &&
                 clamp_floats(ctx, "hardtanh.out", in, scalar_to<float>(min), scalar_to<float>(max), out)
             ? out
             : hardtanh_out(ctx, in, min, max, out);
}

Tensor& opt_relu_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return float_elementwise(ctx, "relu.out", {in}, {float_relu}, out) ? out : relu_out(ctx, in, out);
}

}  // namespace torch::executor::native
