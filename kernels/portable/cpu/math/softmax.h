// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// The input in memory order: outer x size x inner, normalised along `size`.
struct SoftmaxRows {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  size_t dim = 0;              ///< the logical dimension of `size`
  bool same_dim_order = true;  ///< whether the output has the dim order of the input
};

/// Checks the arguments of _softmax.out and _log_softmax.out and resizes `out`, or fails with InvalidArgument.
bool plan_softmax(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t dim, bool half_to_float,
                  Tensor& out, SoftmaxRows* rows);

}  // namespace torch::executor::native
