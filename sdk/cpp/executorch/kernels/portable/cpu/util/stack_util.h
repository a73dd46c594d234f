// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Joins tensors of one shape along a new dimension, for custom kernels.
 */
#pragma once

#include <executorch/kernels/portable/cpu/util/cat_util.h>

namespace torch {
namespace executor {

/// Checks that the tensors have one shape, and dtypes that can be stored in `out`. `dim`, of the result, must not be
/// negative. Logs if not.
ET_NODISCARD inline bool check_stack_args(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  ET_CHECK_OR_RETURN_FALSE(!tensors.empty(), "stack: expected at least one tensor");
  for (const Tensor& tensor : tensors) {
    ET_CHECK_OR_RETURN_FALSE(canCast(tensor.scalar_type(), out.scalar_type()),
                             "stack: an input of dtype %s cannot be stored in an output of dtype %s",
                             ::executorch::runtime::toString(tensor.scalar_type()),
                             ::executorch::runtime::toString(out.scalar_type()));
    ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_shape(tensors[0], tensor));
  }
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_smaller_or_equal_to(tensors[0], kTensorDimensionLimit - 1));
  ET_CHECK_OR_RETURN_FALSE(dim >= 0 && dim <= tensors[0].dim(), "stack: there is no dimension %" PRId64 " to add", dim);
  return true;
}

/// Writes the sizes of the result to `out_sizes`, which has room for kTensorDimensionLimit. The check has passed.
inline void get_stack_out_target_size(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim,
                                      ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(tensors[0].dim()) + 1;
  for (int64_t d = 0; d < static_cast<int64_t>(*out_ndim); ++d) {
    out_sizes[d] = static_cast<::executorch::aten::SizesType>(
        d == dim ? static_cast<int64_t>(tensors.size()) : static_cast<int64_t>(tensors[0].size(d < dim ? d : d - 1)));
  }
}

namespace native {

using ::torch::executor::check_stack_args;
using ::torch::executor::get_stack_out_target_size;

/// Resizes `out` and joins contiguous tensors. `dim` may count from the end. Sets InvalidArgument in the context if the
/// arguments are not valid.
inline Tensor& stack_out_impl(KernelRuntimeContext& ctx, ::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim,
                              Tensor& out) {
  dim += dim < 0 ? out.dim() : 0;
  ET_KERNEL_CHECK(ctx, check_stack_args(tensors, dim, out), InvalidArgument, out);
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  size_t rank = 0;
  get_stack_out_target_size(tensors, dim, sizes, &rank);
  ET_KERNEL_CHECK(
      ctx, resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, rank)) == Error::Ok,
      InvalidArgument, out);
  if (out.numel() > 0) {
    internal::join(ctx, tensors, getLeadingDims(out, dim), out);
  }
  return out;
}
inline Tensor& stack_out_impl(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  KernelRuntimeContext ctx;
  return stack_out_impl(ctx, tensors, dim, out);
}

}  // namespace native
}  // namespace executor
}  // namespace torch
