// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of matrix multiplications, for custom kernels. A check logs what it expected and returns false;
 * a target size assumes that the check has passed.
 */
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// out = beta * in + alpha * mat1 @ mat2. `in` is broadcast to the result, which this does not check.
ET_NODISCARD inline bool check_addmm_args(const ::executorch::aten::Tensor& in, const ::executorch::aten::Tensor& mat1,
                                          const ::executorch::aten::Tensor& mat2,
                                          const ::executorch::aten::Scalar& /*beta*/,
                                          const ::executorch::aten::Scalar& /*alpha*/,
                                          ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(mat1, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(mat2, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, mat1, mat2));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  return tensors_have_same_size_at_dims(mat1, 1, mat2, 0);
}

/// out[b] = in[b] @ mat2[b].
ET_NODISCARD inline bool check_bmm_args(const ::executorch::aten::Tensor& in, const ::executorch::aten::Tensor& mat2,
                                        ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(in, 3));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(mat2, 3));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, 3));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, mat2, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_size_at_dims(in, 0, mat2, 0));
  return tensors_have_same_size_at_dims(in, 2, mat2, 1);
}

/// Writes the sizes of mat1[b] @ mat2[b] to `out_sizes`, which has room for kTensorDimensionLimit.
inline void get_bmm_out_target_size(const ::executorch::aten::Tensor& mat1, const ::executorch::aten::Tensor& mat2,
                                    ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = 3;
  out_sizes[0] = mat1.sizes()[0];
  out_sizes[1] = mat1.sizes()[1];
  out_sizes[2] = mat2.sizes()[2];
}

/// out = in @ mat2.
ET_NODISCARD inline bool check_mm_args(const ::executorch::aten::Tensor& in, const ::executorch::aten::Tensor& mat2,
                                       ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(in, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(mat2, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, mat2, out));
  return tensors_have_same_size_at_dims(in, 1, mat2, 0);
}

/// Writes the sizes of mat1 @ mat2 to `out_sizes`, which has room for kTensorDimensionLimit.
inline void get_mm_out_target_size(const ::executorch::aten::Tensor& mat1, const ::executorch::aten::Tensor& mat2,
                                   ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = 2;
  out_sizes[0] = mat1.sizes()[0];
  out_sizes[1] = mat2.sizes()[1];
}

/// out = in @ mat2^T, where `mat2` is the weight [outputs, inputs] of a linear layer.
ET_NODISCARD inline bool check_linear_args(const ::executorch::aten::Tensor& in, const ::executorch::aten::Tensor& mat2,
                                           ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(mat2, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, mat2, out));
  return tensors_have_same_size_at_dims(in, static_cast<size_t>(in.dim() - 1), mat2, 1);
}

/// Writes the sizes of mat1 @ mat2^T to `out_sizes`, which has room for kTensorDimensionLimit.
inline void get_linear_out_target_size(const ::executorch::aten::Tensor& mat1, const ::executorch::aten::Tensor& mat2,
                                       ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(mat1.dim());
  for (size_t i = 0; i + 1 < *out_ndim; ++i) {
    out_sizes[i] = mat1.sizes()[i];
  }
  out_sizes[*out_ndim - 1] = mat2.sizes()[0];
}

}  // namespace executor
}  // namespace torch
