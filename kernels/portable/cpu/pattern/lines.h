// SPDX-License-Identifier: BSD-3-Clause
// Loops along one dimension of several tensors at once.
#pragma once

#include "kernels/portable/cpu/pattern/loop_nest.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {

/// Calls `body(offsets)` for every line along dimension `dim` of N views whose other sizes are those of the first one;
/// `offsets[n]` is the element of view n at which its line begins. Lines come in row-major order.
template <size_t N, typename Body>
void for_each_line(const StridedView (&views)[N], size_t dim, const Body& body) {
  LoopNest<N> nest;
  for (size_t d = 0; d < views[0].dims; ++d) {
    if (views[0].sizes[d] == 0) {
      return;
    }
    if (d == dim) {
      continue;
    }
    int64_t strides[N];
    for (size_t n = 0; n < N; ++n) {
      strides[n] = views[n].strides[d];
    }
    nest.push(views[0].sizes[d], strides);
  }
  nest.for_each(body);
}

/// A view of `tensor` with at least one dimension.
inline StridedView at_least_1d(const Tensor& tensor) {
  StridedView view = StridedView::of(tensor);
  if (view.dims == 0) {
    view.insert(0, 1, 1);
  }
  return view;
}

}  // namespace torch::executor::native
