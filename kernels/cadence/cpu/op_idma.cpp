// SPDX-License-Identifier: BSD-3-Clause
// cadence::idma_copy, idma_load, idma_store, idma_wait
#include <cstring>

#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

Tensor& copy_bytes(KernelRuntimeContext& ctx, const char* op, const Tensor& src, Tensor& out) {
  if (check_same_dtype(ctx, op, src, out) && check_resize_like(ctx, op, out, src) &&
      check_order(ctx, op, "a source", src) && check_order(ctx, op, "an output", out) && src.nbytes() > 0) {
    std::memmove(out.mutable_data_ptr(), src.const_data_ptr(), src.nbytes());
  }
  return out;
}

}  // namespace

/// The DMA engine's copies between memories. On a CPU they are copies that are done when they return.
Tensor& cadence_idma_copy_out(KernelRuntimeContext& ctx, const Tensor& src, int64_t /*task_num*/, int64_t /*channel*/,
                              Tensor& out) {
  return copy_bytes(ctx, "cadence::idma_copy", src, out);
}

Tensor& cadence_idma_wait_out(KernelRuntimeContext& ctx, const Tensor& src, int64_t /*task_num*/, Tensor& out) {
  return copy_bytes(ctx, "cadence::idma_wait", src, out);
}

}  // namespace torch::executor::native
