// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operators on complex numbers. Few programs use them, so all operators share one loop, which calls a
// function for each element. These functions compute in double, whatever the dtype.
#pragma once

#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {

/// Whether any operand is complex. False at compile time if the source file is not compiled for complex numbers.
static inline bool has_complex(std::initializer_list<Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.tensor() != nullptr && is_complex(operand.tensor()->scalar_type())) {
      return true;
    }
  }
  return false;
}

/// The dtype of the result if the promoted dtype of the operands is complex.
enum class ComplexResult : uint8_t {
  Promoted,  ///< that dtype
  Real,      ///< the dtype of its parts: abs, angle
  Bool,      ///< comparisons
};

namespace internal {
using ComplexFunction = Complex (*)(const void* op, const Complex* in);

Tensor& run_complex(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                    ComplexResult result, Tensor& out, const void* op, ComplexFunction function);
}  // namespace internal

/// out[i] = op(in), with in[n] the element of operand n that is broadcast to i. Checks dtypes and resizes `out` as
/// plan_elementwise does.
template <typename Op>
Tensor& complex_elementwise(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                            ComplexResult result, Tensor& out, const Op& op) {
  return internal::run_complex(ctx, name, operands, result, out, &op, [](const void* function, const Complex* in) {
    return Complex((*static_cast<const Op*>(function))(in));
  });
}

/// The same for one operand and an operator on numbers.
template <typename Op>
Tensor& complex_unary(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out, const Op& op) {
  return complex_elementwise(ctx, name, {in}, ComplexResult::Promoted, out, [&](const Complex* x) { return op(x[0]); });
}

}  // namespace torch::executor::native
