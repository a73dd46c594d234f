// SPDX-License-Identifier: BSD-3-Clause
// _softmax.out and _log_softmax.out along contiguous rows.
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "kernels/optimized/cpu/normalization/rows.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/math/softmax.h"

namespace torch::executor::native {
namespace {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;

// Whether dimension `dim` is the innermost one in memory, and both tensors have the same dim order.
bool is_along_rows(const Tensor& in, int64_t dim, const Tensor& out) {
  const ssize_t last = in.dim() - 1;
  const auto order = in.dim_order();
  return last >= 0 && (dim == last || dim == -1) && order[static_cast<size_t>(last)] == last && out.dim() == in.dim() &&
         std::equal(order.begin(), order.end(), out.dim_order().begin());
}

// Returns false, and does nothing, unless the tensors are float32 and normalised along rows.
bool softmax(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out,
             bool log) {
  if (in.scalar_type() != ScalarType::Float || !is_along_rows(in, dim, out)) {
    return false;
  }
  SoftmaxRows rows;
  if (!plan_softmax(ctx, op, in, dim, half_to_float, out, &rows) || in.numel() == 0) {
    return true;
  }
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  const int64_t grain = grain_for(GRAIN_SIZE, {8, rows.size});  // an element costs as much as eight additions
  executorch::extension::parallel_for(0, rows.outer, grain, [&](int64_t begin, int64_t end) {
    softmax_rows(from + begin * rows.size, to + begin * rows.size, end - begin, rows.size, log);
  });
  return true;
}

}  // namespace

Tensor& opt_softmax_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out) {
  return softmax(ctx, "_softmax.out", in, dim, half_to_float, out, /*log=*/false)
             ? out
             : softmax_out(ctx, in, dim, half_to_float, out);
}

Tensor& opt_log_softmax_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out) {
  return softmax(ctx, "_log_softmax.out", in, dim, half_to_float, out, /*log=*/true)
             ? out
             : log_softmax_out(ctx, in, dim, half_to_float, out);
}

}  // namespace torch::executor::native
