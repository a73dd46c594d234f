// SPDX-License-Identifier: BSD-3-Clause
// eq, ne, lt, le, gt, ge between tensors and with numbers.
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

template <typename Op>
Tensor& compare(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out, const Op& op) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {a, b}, Promotion::ToBool, out, &type)) {
    with_arithmetic_type(type, [&](auto zero) {
      using C = decltype(zero);
      elementwise<uint8_t, C, C>(op, out, a, b);
    });
  }
  return out;
}

}  // namespace

// Complex numbers are equal or not, but have no order.
#define DEFINE_EQUALITY(name, symbol)                                                                       \
  static Tensor& name(KernelRuntimeContext& ctx, const char* overload, Operand a, Operand b, Tensor& out) { \
    if (has_complex({a, b})) {                                                                              \
      return complex_elementwise(ctx, overload, {a, b}, ComplexResult::Bool, out,                           \
                                 [](const Complex* x) { return x[0] symbol x[1] ? 1.0 : 0.0; });            \
    }                                                                                                       \
    return compare(ctx, overload, a, b, out, [](auto x, auto y) { return x symbol y; });                    \
  }                                                                                                         \
  DEFINE_OVERLOADS(name)

// The lambda is in a separate function so that both overloads share its loops.
#define DEFINE_COMPARISON(name, symbol)                                                                     \
  static Tensor& name(KernelRuntimeContext& ctx, const char* overload, Operand a, Operand b, Tensor& out) { \
    return compare(ctx, overload, a, b, out, [](auto x, auto y) { return x symbol y; });                    \
  }                                                                                                         \
  DEFINE_OVERLOADS(name)

#define DEFINE_OVERLOADS(name)                                                                          \
  Tensor& name##_tensor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) { \
    return name(ctx, #name ".Tensor_out", a, b, out);                                                   \
  }                                                                                                     \
  Tensor& name##_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) { \
    return name(ctx, #name ".Scalar_out", a, b, out);                                                   \
  }

DEFINE_EQUALITY(eq, ==)
DEFINE_EQUALITY(ne, !=)
DEFINE_COMPARISON(lt, <)
DEFINE_COMPARISON(le, <=)
DEFINE_COMPARISON(gt, >)
DEFINE_COMPARISON(ge, >=)

}  // namespace torch::executor::native
