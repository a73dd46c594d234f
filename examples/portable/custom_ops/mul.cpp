// SPDX-License-Identifier: BSD-3-Clause
// The kernels, for the runtime and for PyTorch. codegen declares them as custom_ops.yaml says.
#include <executorch/runtime/kernel/kernel_includes.h>

using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

namespace custom::native {
namespace {

/// output = factor * input, both Float and of one shape.
Tensor& multiply(KernelRuntimeContext& context, float factor, const Tensor& input, Tensor& output) {
  ET_KERNEL_CHECK(context,
                  input.scalar_type() == executorch::aten::ScalarType::Float &&
                      output.scalar_type() == executorch::aten::ScalarType::Float,
                  InvalidArgument, output);
  ET_KERNEL_CHECK(context, executorch::runtime::resize_tensor(output, input.sizes()) == executorch::runtime::Error::Ok,
                  InvalidArgument, output);
  const float* from = input.const_data_ptr<float>();
  float* to = output.mutable_data_ptr<float>();
  for (ssize_t i = 0; i < input.numel(); ++i) {
    to[i] = factor * from[i];
  }
  return output;
}

}  // namespace

Tensor& mul3_out(KernelRuntimeContext& context, const Tensor& input, Tensor& output) {
  return multiply(context, 3, input, output);
}

Tensor& mul4_out(KernelRuntimeContext& context, const Tensor& input, Tensor& output) {
  return multiply(context, 4, input, output);
}

}  // namespace custom::native
