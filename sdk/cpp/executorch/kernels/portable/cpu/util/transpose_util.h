// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Swaps two dimensions, for custom kernels.
 */
#pragma once

#include <algorithm>
#include <utility>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Writes `a` with the dimensions `dim0` and `dim1` swapped to `out`, which has that shape and is contiguous. The
/// dimensions do not count from the end.
template <typename T>
void transpose_tensors(const ::executorch::aten::Tensor& a, int64_t dim0, int64_t dim1,
                       ::executorch::aten::Tensor& out) {
  constexpr size_t kLimit = ::executorch::runtime::kTensorDimensionLimit;
  const auto rank = static_cast<size_t>(a.dim());
  size_t sizes[kLimit];
  size_t strides[kLimit];
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = static_cast<size_t>(a.sizes()[i]);
    strides[i] = static_cast<size_t>(a.strides()[i]);
  }
  if (rank > 0) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  const T* const from = a.template const_data_ptr<T>();
  T* const to = out.template mutable_data_ptr<T>();
  size_t indexes[kLimit] = {};
  size_t position = 0;
  for (size_t written = 0; written < static_cast<size_t>(a.numel()); ++written) {
    to[written] = from[position];
    for (size_t i = rank; i-- > 0;) {
      position += strides[i];
      if (++indexes[i] < sizes[i]) {
        break;
      }
      position -= sizes[i] * strides[i];
      indexes[i] = 0;
    }
  }
}

/// Whether `in` is a matrix, a vector or a scalar of the dtype of `out`. Logs if not.
ET_NODISCARD inline bool check_t_copy_args(const ::executorch::aten::Tensor& in, ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  return tensor_has_rank_smaller_or_equal_to(in, 2);
}

/// Whether both dimensions exist and the dtypes are the same. Logs if not.
ET_NODISCARD inline bool check_transpose_copy_args(const ::executorch::aten::Tensor& in, int64_t dim0, int64_t dim1,
                                                   ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim0));
  return tensor_has_dim(in, dim1);
}

/// The dimensions do not count from the end.
inline void get_transpose_out_target_size(const ::executorch::aten::Tensor& in, ::executorch::aten::SizesType dim0,
                                          ::executorch::aten::SizesType dim1, ::executorch::aten::SizesType* out_sizes,
                                          size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  if (in.dim() > 0) {
    std::swap(out_sizes[dim0], out_sizes[dim1]);
  }
}

}  // namespace executor
}  // namespace torch
