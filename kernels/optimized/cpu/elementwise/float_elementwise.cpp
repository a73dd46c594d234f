// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/optimized/cpu/elementwise/float_elementwise.h"

#include <executorch/runtime/kernel/thread_parallel_interface.h>

namespace torch::executor::native {
namespace {

using executorch::extension::internal::GRAIN_SIZE;
using internal::kMaxOperands;

void run_block(const void* op, void* out, const void* const* in, size_t count) {
  const FloatOp& function = *static_cast<const FloatOp*>(op);
  function.block(in, static_cast<float*>(out), count, function.p);
}

// Handles small tensors with the sizes and layout of `out` without a plan, which would take longer than the work.
bool run_alike(std::initializer_list<Operand> operands, const FloatOp& op, const Tensor& out) {
  const void* in[kMaxOperands];
  size_t n = 0;
  for (const Operand& operand : operands) {
    if (operand.tensor() == nullptr || !is_same_layout(*operand.tensor(), out)) {
      return false;
    }
    in[n++] = operand.tensor()->const_data_ptr();
  }
  op.block(in, out.mutable_data_ptr<float>(), static_cast<size_t>(out.numel()), op.p);
  return true;
}

}  // namespace

bool are_floats(std::initializer_list<Operand> operands, const Tensor& out) {
  bool has_tensor = false;
  for (const Operand& operand : operands) {
    if (operand.tensor() != nullptr) {
      has_tensor = true;
      if (operand.tensor()->scalar_type() != ScalarType::Float) {
        return false;
      }
    }
  }
  return has_tensor && out.scalar_type() == ScalarType::Float;
}

bool float_elementwise(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                       const FloatOp& op, Tensor& out) {
  if (!are_floats(operands, out)) {
    return false;
  }
  if (out.numel() < 2 * GRAIN_SIZE && run_alike(operands, op, out)) {
    return true;
  }
  ComputeType type;
  if (!plan_elementwise(ctx, name, operands, Promotion::Same, out, &type)) {
    return true;
  }
  internal::TypedOperand typed[] = {{*operands.begin(), type}, {*(operands.end() - 1), type}};
  internal::FlatCall flat;
  if (out.numel() < 2 * GRAIN_SIZE || !flat.start(out, type, typed, operands.size())) {
    internal::run_elementwise(&op, run_block, out, type, typed, operands.size());
    return true;
  }
  executorch::extension::parallel_for(0, out.numel(), GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    flat.run(&op, run_block, static_cast<size_t>(begin), static_cast<size_t>(end));
  });
  return true;
}

}  // namespace torch::executor::native
