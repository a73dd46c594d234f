// SPDX-License-Identifier: BSD-3-Clause
// How elementwise operators loop over memory.
#pragma once

#include "kernels/portable/cpu/pattern/elementwise.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"

namespace torch::executor::native::internal {

/// The loops over the elements of `out`, in memory order, and over the operands that are broadcast to it. Operand n is
/// `in[n]` (null for a number, which has no strides); the last operand is `out`.
LoopNest<kMaxOperands + 1> broadcast_loops(const Tensor& out, const Tensor* const* in, size_t count);

}  // namespace torch::executor::native::internal
