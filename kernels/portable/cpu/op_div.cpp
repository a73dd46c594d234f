// SPDX-License-Identifier: BSD-3-Clause
// Division and its remainders: div (true, trunc, floor), floor_divide, fmod, remainder.
#include <string_view>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

// When PyTorch divides float16 by a number or a tensor without dimensions, the divisor stays in float32. For remainders
// it is rounded to float16.
constexpr unsigned kExactDivisor = 0b10;

Tensor& true_divide(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  if (has_complex({a, b})) {
    return complex_elementwise(ctx, name, {a, b}, ComplexResult::Promoted, out,
                               [](const Complex* x) { return divide(x[0], x[1]); });
  }
  return floating_binary(ctx, name, a, b, out, [](auto x, auto y) { return x / y; }, kExactDivisor);
}

// A division or remainder of integers fails if a divisor is zero, after all other elements have been computed.
template <typename Op>
Tensor& divide(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out, const Op& op,
               unsigned exact_operands = 0) {
  bool divided_by_zero = false;
  promoted_binary(
      ctx, name, a, b, out,
      [op, failed = &divided_by_zero](auto x, auto y) {
        if constexpr (is_integer<decltype(y)>) {
          if (y == 0) {
            *failed = true;
            return y;
          }
        }
        return op(x, y);
      },
      exact_operands);
  ET_KERNEL_CHECK_MSG(ctx, !divided_by_zero, InvalidArgument, out,
                      "%s: division of an integer by zero; use floating-point inputs or mask the zeros", name);
  return out;
}

constexpr auto kTrunc = [](auto x, auto y) { return trunc_divide(x, y); };
constexpr auto kFloor = [](auto x, auto y) { return floor_divide(x, y); };
constexpr auto kFmod = [](auto x, auto y) { return trunc_remainder(x, y); };
constexpr auto kRemainder = [](auto x, auto y) { return floor_remainder(x, y); };

Tensor& divide_with_mode(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b,
                         const std::optional<std::string_view>& mode, Tensor& out) {
  if (!mode.has_value()) {
    return true_divide(ctx, name, a, b, out);
  }
  if (*mode == "trunc") {
    return divide(ctx, name, a, b, out, kTrunc, kExactDivisor);
  }
  ET_KERNEL_CHECK_MSG(ctx, *mode == "floor", InvalidArgument, out,
                      "%s: rounding_mode is '%.*s'; expected none, 'trunc' or 'floor'", name,
                      static_cast<int>(mode->size()), mode->data());
  return divide(ctx, name, a, b, out, kFloor, kExactDivisor);
}

}  // namespace

Tensor& div_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return true_divide(ctx, "div.out", a, b, out);
}

Tensor& div_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return true_divide(ctx, "div.Scalar_out", a, b, out);
}

Tensor& div_out_mode(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, std::optional<std::string_view> mode,
                     Tensor& out) {
  return divide_with_mode(ctx, "div.out_mode", a, b, mode, out);
}

Tensor& div_scalar_mode_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b,
                            std::optional<std::string_view> mode, Tensor& out) {
  return divide_with_mode(ctx, "div.Scalar_mode_out", a, b, mode, out);
}

Tensor& floor_divide_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return divide(ctx, "floor_divide.out", a, b, out, kFloor, kExactDivisor);
}

Tensor& fmod_Tensor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return divide(ctx, "fmod.Tensor_out", a, b, out, kFmod);
}

Tensor& fmod_Scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return divide(ctx, "fmod.Scalar_out", a, b, out, kFmod);
}

Tensor& remainder_Tensor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return divide(ctx, "remainder.Tensor_out", a, b, out, kRemainder);
}

Tensor& remainder_Scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return divide(ctx, "remainder.Scalar_out", a, b, out, kRemainder);
}

}  // namespace torch::executor::native
