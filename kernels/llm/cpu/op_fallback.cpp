// SPDX-License-Identifier: BSD-3-Clause
// llama::fallback.out: a copy of the input, where a backend leaves a part of a model to the runtime.
#include <executorch/extension/llm/custom_ops/op_fallback.h>

#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

Tensor& fallback_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  const char* op = "fallback.out";
  if (!check_same_dtype(ctx, op, in, out) || !check_resize_like(ctx, op, out, in)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim_order() == out.dim_order(), InvalidArgument, out,
                      "%s: input and output must be in the same dim order", op);
  if (in.nbytes() > 0) {
    std::memmove(out.mutable_data_ptr(), in.const_data_ptr(), in.nbytes());
  }
  return out;
}

}  // namespace torch::executor::native
