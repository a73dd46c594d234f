// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Returns whether a tensor of the dtype can hold the number; if not, fails the context with InvalidArgument. The rules
/// are those of eager: an integer dtype accepts fractions within its range, an unsigned one also negative integers down
/// to minus its largest value, bool accepts everything, and floating-point dtypes accept infinity and NaN.
bool check_scalar_range(KernelRuntimeContext& ctx, const char* op, const Scalar& scalar, ScalarType dtype);

/// The same without a message and without failing the context.
bool is_in_scalar_range(const Scalar& scalar, ScalarType dtype);

}  // namespace torch::executor::native
