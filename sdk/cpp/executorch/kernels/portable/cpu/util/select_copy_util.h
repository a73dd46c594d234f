// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * One slice of a tensor, for custom kernels.
 */
#pragma once

#include <executorch/kernels/portable/cpu/util/copy_ops_util.h>
#include <executorch/kernels/portable/cpu/util/slice_util.h>

namespace torch {
namespace executor {

/**
 * Resizes `out` and copies slice `index` of dimension `dim`. Both may count from the end. Both tensors are contiguous.
 *
 * @retval Error::InvalidArgument (logged) there is no such slice, or `out` has another dtype or cannot be resized.
 */
ET_NODISCARD inline Error select_copy_util(const Tensor& in, int64_t dim, int64_t index, Tensor& out) {
  if (!check_select_copy_out_args(in, dim, index, out)) {
    return Error::InvalidArgument;
  }
  dim += dim < 0 ? in.dim() : 0;
  index += index < 0 ? in.size(dim) : 0;
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  size_t rank = 0;
  get_select_copy_out_target_size(in, dim, sizes, &rank);
  if (resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, rank)) != Error::Ok) {
    return Error::InvalidArgument;
  }
  KernelRuntimeContext ctx;
  compute_slice(ctx, in, dim, index, 1, 1, out);
  return ctx.failure_state();
}

}  // namespace executor
}  // namespace torch
