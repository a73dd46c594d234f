// SPDX-License-Identifier: BSD-3-Clause
// Checks for operators that change shapes. Each returns false after it has logged what was expected and found and has
// set the context's failure to InvalidArgument.
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Checks that `a` and `b` have the same dtype.
bool check_same_dtype(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b);

/// Checks that `dim` is within a tensor of `rank` dimensions (rank 0 counts as 1). Stores it as non-negative.
bool check_dim(KernelRuntimeContext& ctx, const char* op, int64_t dim, int64_t rank, size_t* normalized);

/// Checks that `index` is within `size` elements of dimension `dim`. Stores it as non-negative.
bool check_index(KernelRuntimeContext& ctx, const char* op, int64_t index, int64_t size, size_t dim,
                 int64_t* normalized);

/// Checks that `tensor` holds int64 or int32 indices.
bool check_index_dtype(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor);

/// Resizes `out`. The sizes must be non-negative and fit its capacity.
bool check_resize(KernelRuntimeContext& ctx, const char* op, Tensor& out, const int64_t* sizes, size_t dims);

/// Resizes `out` to the sizes of `in`.
bool check_resize_like(KernelRuntimeContext& ctx, const char* op, Tensor& out, const Tensor& in);

/// Checks that the two tensors share no byte, which a memory plan does not guarantee: operators read `read` again after
/// they have checked its values.
bool check_no_overlap(KernelRuntimeContext& ctx, const char* op, const Tensor& read, const Tensor& written);

/// Element `i`, in memory order, of a tensor of int64 or int32 indices.
inline int64_t index_at(const Tensor& indices, int64_t i) {
  return indices.scalar_type() == ScalarType::Long ? indices.const_data_ptr<int64_t>()[i]
                                                   : indices.const_data_ptr<int32_t>()[i];
}

}  // namespace torch::executor::native
