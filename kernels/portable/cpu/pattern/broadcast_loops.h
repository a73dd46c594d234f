// SPDX-License-Identifier: BSD-3-Clause
// How elementwise operators loop over memory.
#pragma once

#include "kernels/portable/cpu/pattern/elementwise.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"

namespace torch::executor::native::internal {

/// The loops over the elements of `out`, in memory order, and over the operands that are broadcast to it. Operand n is
/// `in[n]` (null for a number, which has no strides); the last operand is `out`.
LoopNest<kMaxOperands + 1> broadcast_loops(const Tensor& out, const Tensor* const* in, size_t count);

/// Stores function(a, b) for each pair of elements of two tensors that are broadcast to `out`. All three have the dtype
/// of `T`, which the caller has checked.
template <typename T, typename Function>
void for_each_pair(const Tensor& a, const Tensor& b, Tensor& out, const Function& function) {
  if (out.numel() == 0) {
    return;
  }
  const Tensor* const in[] = {&a, &b};
  auto loops = broadcast_loops(out, in, 2);
  int64_t strides[kMaxOperands + 1];
  const int64_t inner = loops.pop(strides);
  const T* const first = a.const_data_ptr<T>();
  const T* const second = b.const_data_ptr<T>();
  T* const results = out.mutable_data_ptr<T>();
  loops.for_each([&](const int64_t* offsets) {
    for (int64_t i = 0; i < inner; ++i) {
      results[offsets[kMaxOperands] + i * strides[kMaxOperands]] =
          function(first[offsets[0] + i * strides[0]], second[offsets[1] + i * strides[1]]);
    }
  });
}

}  // namespace torch::executor::native::internal
