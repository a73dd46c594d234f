// SPDX-License-Identifier: BSD-3-Clause
// The operators that copy between host memory and devices. They fail, because this runtime has at::Tensor on the CPU
// only.
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/log.h>

namespace torch {
namespace executor {
namespace native {
namespace {

Tensor& refuse(KernelRuntimeContext& context, const char* op, Tensor& out) {
  ET_LOG(Error, "%s: tensors of PyTorch are supported on the CPU only; run this program without USE_ATEN_LIB", op);
  context.fail(executorch::runtime::Error::NotSupported);
  return out;
}

}  // namespace

Tensor& _h2d_copy_out(KernelRuntimeContext& context, const Tensor& /*self*/, Tensor& out) {
  return refuse(context, "_h2d_copy.out", out);
}

Tensor& _d2h_copy_out(KernelRuntimeContext& context, const Tensor& /*self*/, Tensor& out) {
  return refuse(context, "_d2h_copy.out", out);
}

}  // namespace native
}  // namespace executor
}  // namespace torch
