// SPDX-License-Identifier: BSD-3-Clause
// The driver of elementwise operators on float32. Types, shapes and traversal are those of the portable library;
// threads share large tensors.
#pragma once

#include "kernels/optimized/cpu/elementwise/float_blocks.h"
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {

/// A function and its scalar parameters.
struct FloatOp {
  FloatBlock block;
  float p[2] = {};
};

/// Whether the operands include a tensor, and all tensors among them and `out` hold floats.
bool are_floats(std::initializer_list<Operand> operands, const Tensor& out);

/// out = op(operands), broadcast; `out` is resized. Fails with InvalidArgument for shapes that do not fit. Returns
/// false, and does nothing, unless are_floats(operands, out).
bool float_elementwise(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                       const FloatOp& op, Tensor& out);

}  // namespace torch::executor::native
