// SPDX-License-Identifier: BSD-3-Clause
// where.self_out, masked_fill.Scalar_out: choose by a bool (or uint8) tensor.
#include "kernels/portable/cpu/pattern/complex_elementwise.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"

namespace torch::executor::native {
namespace {

bool check_mask(KernelRuntimeContext& ctx, const char* name, const Tensor& mask) {
  ET_KERNEL_CHECK_MSG(ctx, mask.scalar_type() == ScalarType::Bool || mask.scalar_type() == ScalarType::Byte,
                      InvalidArgument, false, "%s: the condition must be bool or uint8, found %s", name,
                      toString(mask.scalar_type()));
  return true;
}

// `dtype` is the dtype of the result before it is converted to that of `out`.
void choose(ScalarType dtype, const Tensor& mask, Operand a, Operand b, Tensor& out) {
  with_arithmetic_type(arithmetic_type(dtype), [&](auto zero) {
    using C = decltype(zero);
    elementwise<C, uint8_t, C, C>([](uint8_t m, C x, C y) { return m != 0 ? x : y; }, Output(out, dtype), mask, a, b);
  });
}

// The mask is the last operand. Only a and b decide the promoted dtype, which is complex.
Tensor& choose_complex(KernelRuntimeContext& ctx, const char* name, const Tensor& mask, Operand a, Operand b,
                       Tensor& out) {
  return complex_elementwise(ctx, name, {a, b, mask}, ComplexResult::Promoted, out,
                             [](const Complex* x) { return x[2] != 0.0 ? x[0] : x[1]; });
}

}  // namespace

Tensor& where_out(KernelRuntimeContext& ctx, const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& out) {
  if (has_complex({a, b})) {
    return check_mask(ctx, "where.self_out", condition) ? choose_complex(ctx, "where.self_out", condition, a, b, out)
                                                        : out;
  }
  ComputeType type;
  if (check_mask(ctx, "where.self_out", condition) &&
      plan_dtype(ctx, "where.self_out", {a, b}, Promotion::Same, out, &type) &&
      resize_to_broadcast(ctx, "where.self_out", {condition, a, b}, out)) {
    choose(result_type({a, b}), condition, a, b, out);
  }
  return out;
}

Tensor& masked_fill_scalar_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& mask, const Scalar& value,
                               Tensor& out) {
  if (!check_scalar_range(ctx, "masked_fill.Scalar_out", value, in.scalar_type())) {
    return out;
  }
  if (has_complex({in})) {
    return check_mask(ctx, "masked_fill.Scalar_out", mask)
               ? choose_complex(ctx, "masked_fill.Scalar_out", mask, value, in, out)
               : out;
  }
  ComputeType type;
  if (check_mask(ctx, "masked_fill.Scalar_out", mask) &&
      plan_dtype(ctx, "masked_fill.Scalar_out", {in}, Promotion::Same, out, &type) &&
      resize_to_broadcast(ctx, "masked_fill.Scalar_out", {in, mask}, out)) {
    choose(in.scalar_type(), mask, value, in, out);
  }
  return out;
}

}  // namespace torch::executor::native
