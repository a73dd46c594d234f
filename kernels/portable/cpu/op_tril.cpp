// SPDX-License-Identifier: BSD-3-Clause
// tril.out, triu.out: the lower and the upper triangle of the last two dimensions; other elements are zero.
#include <algorithm>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

Tensor& triangle(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t diagonal, bool lower,
                 Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() >= 2, InvalidArgument, out, "%s: expected at least 2 dimensions, found %zd", name,
                      static_cast<ssize_t>(in.dim()));
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()), InvalidArgument, out,
                      "%s: inputs of dtype %s are not supported", name, toString(in.scalar_type()));
  if (!copy_to_output(ctx, name, StridedView::of(in), out) || out.numel() == 0) {
    return out;
  }
  const StridedView all = StridedView::of(out);
  const size_t row_dim = all.dims - 2;
  const int64_t columns = all.sizes[row_dim + 1];
  for (int64_t row = 0; row < all.sizes[row_dim]; ++row) {
    // The first column above the kept part (lower), or the first column of it (upper).
    const int64_t offset = std::clamp<int64_t>(diagonal, -all.sizes[row_dim], columns);
    const int64_t edge = std::clamp<int64_t>(row + offset + (lower ? 1 : 0), 0, columns);
    StridedView cleared = all;
    cleared.slice(row_dim + 1, lower ? edge : 0, lower ? columns - edge : edge).select(row_dim, row);
    fill(cleared, Scalar(int64_t{0}));
  }
  return out;
}

}  // namespace

Tensor& tril_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t diagonal, Tensor& out) {
  return triangle(ctx, "tril.out", in, diagonal, /*lower=*/true, out);
}

Tensor& triu_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t diagonal, Tensor& out) {
  return triangle(ctx, "triu.out", in, diagonal, /*lower=*/false, out);
}

}  // namespace torch::executor::native
