// SPDX-License-Identifier: BSD-3-Clause
// cadence::where_Scalar: one of two numbers for each bool
#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {

using namespace cadence;

Tensor& cadence_where_scalar_out(KernelRuntimeContext& ctx, const Tensor& condition, double self, double other,
                                 Tensor& out) {
  constexpr const char* op = "cadence::where_Scalar";
  if (check_dtype(ctx, op, "a condition", condition, ScalarType::Bool) &&
      check_dtype(ctx, op, "an output", out, ScalarType::Float) && check_resize_like(ctx, op, out, condition) &&
      check_order(ctx, op, "a condition", condition) && check_order(ctx, op, "an output", out)) {
    for (ssize_t i = 0; i < condition.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = static_cast<float>(condition.const_data_ptr<bool>()[i] ? self : other);
    }
  }
  return out;
}

}  // namespace torch::executor::native
