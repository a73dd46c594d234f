// SPDX-License-Identifier: BSD-3-Clause
// permute_copy, transpose_copy.int, t_copy: reorder the dimensions.
#include <utility>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

Tensor& transpose(KernelRuntimeContext& ctx, const char* name, const Tensor& in, size_t dim0, size_t dim1,
                  Tensor& out) {
  StridedView view = StridedView::of(in);
  if (in.dim() > 0) {
    std::swap(view.sizes[dim0], view.sizes[dim1]);
    std::swap(view.strides[dim0], view.strides[dim1]);
  }
  copy_to_output(ctx, name, view, out);
  return out;
}

}  // namespace

Tensor& permute_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, Tensor& out) {
  constexpr const char* name = "permute_copy.out";
  const size_t rank = static_cast<size_t>(in.dim());
  ET_KERNEL_CHECK_MSG(ctx, dims.size() == rank, InvalidArgument, out,
                      "%s: expected %zu dimensions in the permutation, found %zu", name, rank, dims.size());
  const StridedView source = StridedView::of(in);
  StridedView view = source;
  bool seen[kTensorDimensionLimit] = {};
  for (size_t i = 0; i < rank; ++i) {
    size_t d = 0;
    if (!check_dim(ctx, name, dims[i], in.dim(), &d)) {
      return out;
    }
    ET_KERNEL_CHECK_MSG(ctx, !seen[d], InvalidArgument, out, "%s: dimension %zu is named twice", name, d);
    seen[d] = true;
    view.sizes[i] = source.sizes[d];
    view.strides[i] = source.strides[d];
  }
  copy_to_output(ctx, name, view, out);
  return out;
}

Tensor& transpose_copy_int_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim0, int64_t dim1, Tensor& out) {
  constexpr const char* name = "transpose_copy.int_out";
  size_t d0 = 0;
  size_t d1 = 0;
  return check_dim(ctx, name, dim0, in.dim(), &d0) && check_dim(ctx, name, dim1, in.dim(), &d1)
             ? transpose(ctx, name, in, d0, d1, out)
             : out;
}

Tensor& t_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() <= 2, InvalidArgument, out,
                      "t_copy.out: expected a tensor of at most 2 dimensions, found %zd",
                      static_cast<ssize_t>(in.dim()));
  return transpose(ctx, "t_copy.out", in, 0, in.dim() < 2 ? 0 : 1, out);
}

}  // namespace torch::executor::native
