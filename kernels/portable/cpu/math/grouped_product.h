// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Prepares moe_ops::grouped_mm.out: rows [offs[g - 1], offs[g]) of `out` (s x n) are those rows of `input` (s x k)
/// times matrix g of `weight` (groups x k x n), and rows from the last offset on are zero.
///
/// Checks the arguments, resizes `out` and clears the rows without a group. `offs` holds int32 or int64 that are at
/// most s and do not fall. Returns false after it has logged what is wrong and has set the context's failure.
bool prepare_grouped_product(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& offs,
                             Tensor& out);

}  // namespace torch::executor::native
