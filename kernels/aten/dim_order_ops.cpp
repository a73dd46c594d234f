// SPDX-License-Identifier: BSD-3-Clause
// The operators by which exporters replace ATen's operators with a memory format. PyTorch does not have them.
#include <optional>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/log.h>

namespace torch {
namespace executor {
namespace native {

using executorch::runtime::Error;

namespace {

/// The program allocates `out` in the dim order that is passed to the operator.
Tensor& copy_into(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  if (executorch::runtime::resize_tensor(out, self.sizes()) != Error::Ok) {
    context.fail(Error::InvalidArgument);
    return out;
  }
  return out.copy_(self);
}

}  // namespace

Tensor& _to_dim_order_copy_out(KernelRuntimeContext& context, const Tensor& self, bool /*non_blocking*/,
                               std::optional<IntArrayRef> /*dim_order*/, Tensor& out) {
  return copy_into(context, self, out);
}

Tensor& _clone_dim_order_out(KernelRuntimeContext& context, const Tensor& self, bool /*non_blocking*/,
                             std::optional<IntArrayRef> /*dim_order*/, Tensor& out) {
  return copy_into(context, self, out);
}

Tensor& _empty_dim_order_out(KernelRuntimeContext& context, IntArrayRef size, std::optional<IntArrayRef> /*dim_order*/,
                             Tensor& out) {
  if (executorch::runtime::resize_tensor(out, size) != Error::Ok) {
    context.fail(Error::InvalidArgument);
  }
  return out;
}

}  // namespace native
}  // namespace executor
}  // namespace torch
