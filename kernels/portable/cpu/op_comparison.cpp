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
#define DEFINE_EQUALITY(name, symbol, tensor_kernel, scalar_kernel)                                         \
  static Tensor& name(KernelRuntimeContext& ctx, const char* overload, Operand a, Operand b, Tensor& out) { \
    if (has_complex({a, b})) {                                                                              \
      return complex_elementwise(ctx, overload, {a, b}, ComplexResult::Bool, out,                           \
                                 [](const Complex* x) { return x[0] symbol x[1] ? 1.0 : 0.0; });            \
    }                                                                                                       \
    return compare(ctx, overload, a, b, out, [](auto x, auto y) { return x symbol y; });                    \
  }                                                                                                         \
  DEFINE_OVERLOADS(name, tensor_kernel, scalar_kernel)

// The lambda is in a separate function so that both overloads share its loops.
#define DEFINE_COMPARISON(name, symbol, tensor_kernel, scalar_kernel)                                       \
  static Tensor& name(KernelRuntimeContext& ctx, const char* overload, Operand a, Operand b, Tensor& out) { \
    return compare(ctx, overload, a, b, out, [](auto x, auto y) { return x symbol y; });                    \
  }                                                                                                         \
  DEFINE_OVERLOADS(name, tensor_kernel, scalar_kernel)

#define DEFINE_OVERLOADS(name, tensor_kernel, scalar_kernel)                                        \
  Tensor& tensor_kernel(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) { \
    return name(ctx, #name ".Tensor_out", a, b, out);                                               \
  }                                                                                                 \
  Tensor& scalar_kernel(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) { \
    return name(ctx, #name ".Scalar_out", a, b, out);                                               \
  }

DEFINE_EQUALITY(eq, ==, eq_tensor_out, eq_scalar_out)
DEFINE_EQUALITY(ne, !=, ne_tensor_out, ne_scalar_out)
DEFINE_COMPARISON(lt, <, lt_tensor_out, lt_scalar_out)
DEFINE_COMPARISON(le, <=, le_tensor_out, le_scalar_out)
DEFINE_COMPARISON(gt, >, gt_tensor_out, gt_scalar_out)
DEFINE_COMPARISON(ge, >=, ge_tensor_out, ge_scalar_out)

}  // namespace torch::executor::native
