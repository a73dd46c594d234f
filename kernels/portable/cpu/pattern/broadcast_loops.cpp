// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {

LoopNest<internal::kMaxOperands + 1> internal::broadcast_loops(const Tensor& out, const Tensor* const* in,
                                                               size_t count) {
  LoopNest<kMaxOperands + 1> nest;
  const size_t dims = static_cast<size_t>(out.dim());
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = out.dim_order()[i];
    int64_t strides[kMaxOperands + 1] = {};
    for (size_t n = 0; n < count; ++n) {
      const size_t leading = in[n] == nullptr ? dims : dims - static_cast<size_t>(in[n]->dim());
      if (d >= leading && in[n]->sizes()[d - leading] != 1) {
        strides[n] = in[n]->strides()[d - leading];
      }
    }
    strides[kMaxOperands] = out.strides()[d];
    nest.push(out.sizes()[d], strides);
  }
  return nest;
}

}  // namespace torch::executor::native
