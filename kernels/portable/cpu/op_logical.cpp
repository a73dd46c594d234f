// SPDX-License-Identifier: BSD-3-Clause
// logical_and, logical_or, logical_xor, logical_not, on values of any dtype: any value but zero is true.
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

template <typename Op>
Tensor& logical(KernelRuntimeContext& ctx, const char* name, const Tensor& a, const Tensor& b, Tensor& out,
                const Op& op) {
  if (has_complex({a, b})) {
    return complex_elementwise(ctx, name, {a, b}, ComplexResult::Bool, out,
                               [&](const Complex* x) { return op(x[0] != 0.0, x[1] != 0.0) != 0 ? 1.0 : 0.0; });
  }
  ComputeType type;
  if (plan_elementwise(ctx, name, {a, b}, Promotion::ToBool, out, &type)) {
    elementwise<uint8_t, uint8_t, uint8_t>(op, out, a, b);
  }
  return out;
}

}  // namespace

Tensor& logical_and_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return logical(ctx, "logical_and.out", a, b, out, [](uint8_t x, uint8_t y) { return x & y; });
}

Tensor& logical_or_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return logical(ctx, "logical_or.out", a, b, out, [](uint8_t x, uint8_t y) { return x | y; });
}

Tensor& logical_xor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return logical(ctx, "logical_xor.out", a, b, out, [](uint8_t x, uint8_t y) { return x ^ y; });
}

Tensor& logical_not_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  if (has_complex({in})) {
    return complex_elementwise(ctx, "logical_not.out", {in}, ComplexResult::Bool, out,
                               [](const Complex* x) { return x[0] == 0.0 ? 1.0 : 0.0; });
  }
  ComputeType type;
  if (plan_elementwise(ctx, "logical_not.out", {in}, Promotion::ToBool, out, &type)) {
    elementwise<uint8_t, uint8_t>([](uint8_t x) { return x ^ 1; }, out, in);
  }
  return out;
}

}  // namespace torch::executor::native
