// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {
namespace {

using internal::kMaxOperands;

Complex number_of(const Scalar& scalar) {
  return {scalar_to<double>(scalar), 0.0};
}

bool check_dtypes(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                  ComplexResult result, const Tensor& out) {
  ScalarType dtype = result_type(operands);
  bool known = is_number(out.scalar_type());
  for (const Operand& operand : operands) {
    known = known && (operand.tensor() == nullptr || is_number(operand.tensor()->scalar_type()));
  }
  if (result != ComplexResult::Promoted) {
    dtype = result == ComplexResult::Bool ? ScalarType::Bool : executorch::runtime::toRealValueType(dtype);
  }
  ET_KERNEL_CHECK_MSG(ctx, known && executorch::runtime::canCast(dtype, out.scalar_type()), InvalidArgument, false,
                      "%s: the result is %s, which cannot be stored in an output of dtype %s", name, toString(dtype),
                      toString(out.scalar_type()));
  return true;
}

}  // namespace

Tensor& internal::run_complex(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands,
                              ComplexResult result, Tensor& out, const void* op, ComplexFunction function) {
  constexpr size_t kOut = kMaxOperands;
  if (!check_dtypes(ctx, name, operands, result, out) || !resize_to_broadcast(ctx, name, operands, out) ||
      out.numel() == 0) {
    return out;
  }
  const Tensor* tensors[kMaxOperands];
  size_t count = 0;
  for (const Operand& operand : operands) {
    tensors[count++] = operand.tensor();
  }
  const LoopNest<kMaxOperands + 1> nest = internal::broadcast_loops(out, tensors, count);
  nest.for_each([&](const int64_t* offsets) {
    Complex in[kMaxOperands];
    size_t n = 0;
    for (const Operand& operand : operands) {
      const Tensor* tensor = operand.tensor();
      in[n] = tensor == nullptr ? number_of(operand.scalar())
                                : read_complex(tensor->const_data_ptr(), tensor->scalar_type(), offsets[n]);
      ++n;
    }
    write_complex(out.mutable_data_ptr(), out.scalar_type(), offsets[kOut], function(op, in));
  });
  return out;
}

}  // namespace torch::executor::native
