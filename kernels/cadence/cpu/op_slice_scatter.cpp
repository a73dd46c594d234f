// SPDX-License-Identifier: BSD-3-Clause
// cadence::slice_scatter_, in place
#include "kernels/cadence/cpu/arguments.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {

using namespace cadence;

/// Writes `src` into the slice [start:end:step] of `self` along `dim`.
Tensor& cadence_slice_scatter_(KernelRuntimeContext& ctx, Tensor& self, const Tensor& src, int64_t dim,
                               std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  constexpr const char* op = "cadence::slice_scatter_";
  size_t normalized = 0;
  if (!check_same_dtype(ctx, op, self, src) || !check_dim(ctx, op, dim, self.dim(), &normalized)) {
    return self;
  }
  ET_KERNEL_CHECK_MSG(ctx, self.dim() > 0, InvalidArgument, self, "%s: expected a tensor of rank 1 or more", op);
  const int64_t size = self.size(static_cast<ssize_t>(normalized));
  const auto bounded = [&](int64_t index) {
    const int64_t positive = index < 0 ? index + size : index;
    return positive < 0 ? 0 : positive > size ? size : positive;
  };
  const int64_t first = bounded(start.value_or(0)), last = bounded(end.value_or(size));
  const int64_t count = step > 0 && last > first ? (last - first - 1) / step + 1 : 0;
  bool fits = step > 0 && src.dim() == self.dim();
  for (size_t d = 0; fits && d < static_cast<size_t>(src.dim()); ++d) {
    fits = src.size(static_cast<ssize_t>(d)) == (d == normalized ? count : self.size(static_cast<ssize_t>(d)));
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, self, "%s: expected a source of the size of the slice, step above 0",
                      op);
  StridedView target = StridedView::of(self);
  copy(target.slice(normalized, first, count, step), StridedView::of(src));
  return self;
}

}  // namespace torch::executor::native
