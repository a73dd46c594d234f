// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Whether a tensor of the dtype can hold the number, or fails with InvalidArgument. The rules are eager's: an integer
/// dtype takes a fraction within its range, an unsigned one takes negative integers down to minus its largest value,
/// bool takes everything, infinity and NaN are numbers of every floating-point dtype.
bool check_scalar_range(KernelRuntimeContext& ctx, const char* op, const Scalar& scalar, ScalarType dtype);

/// The same without a message, for a kernel that hands such numbers to another one.
bool is_in_scalar_range(const Scalar& scalar, ScalarType dtype);

}  // namespace torch::executor::native
