// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of slices, and their elements, for custom kernels. A check logs what it expected and returns
 * false; other functions assume that the check has passed and that `dim` does not count from the end.
 */
#pragma once

#include <algorithm>
#include <cstring>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// `length` elements from `start` on, which may count from the end.
ET_NODISCARD inline bool check_narrow_copy_args(const ::executorch::aten::Tensor& in, int64_t dim, int64_t start,
                                                int64_t length, ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  const auto size = static_cast<int64_t>(in.size(dim < 0 ? dim + in.dim() : dim));
  const int64_t first = start < 0 ? start + size : start;
  ET_CHECK_OR_RETURN_FALSE(first >= 0 && length >= 0 && first <= size && length <= size - first,
                           "narrow: %" PRId64 " elements from %" PRId64 " on are not within a size of %" PRId64, length,
                           start, size);
  return true;
}

/// Writes the sizes of `in` with `length` in dimension `dim` (0 or more) to `out_sizes`, which has room for
/// kTensorDimensionLimit.
inline void get_narrow_copy_out_target_size(const ::executorch::aten::Tensor& in, int64_t dim, int64_t length,
                                            ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  out_sizes[dim] = static_cast<::executorch::aten::SizesType>(length);
}

/// `in` has dimension `dim`, `out` has its dtype, and `step` is at least 1.
ET_NODISCARD inline bool check_slice_copy_args(const ::executorch::aten::Tensor& in, int64_t dim, int64_t step,
                                               ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_CHECK_OR_RETURN_FALSE(step > 0, "slice: expected a step of at least 1, found %" PRId64, step);
  return true;
}

/// `num_values` is the result of adjust_slice_indices().
inline void get_slice_copy_out_target_size(const ::executorch::aten::Tensor& in, int64_t dim, int64_t num_values,
                                           ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  get_narrow_copy_out_target_size(in, dim, num_values, out_sizes, out_ndim);
}

/// `output` has the shape and dtype of `input`, and `src` that shape with `num_values` in dimension `dim`.
ET_NODISCARD inline bool check_slice_scatter_args(const ::executorch::aten::Tensor& input,
                                                  const ::executorch::aten::Tensor& src, int64_t dim,
                                                  int64_t num_values, int64_t step, ::executorch::aten::Tensor output) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(input, 1));
  ET_LOG_AND_RETURN_IF_FALSE(dim_is_valid(dim, input.dim()));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_shape_and_dtype(input, output));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(input, src));
  ET_CHECK_OR_RETURN_FALSE(step > 0, "slice: expected a step of at least 1, found %" PRId64, step);
  const int64_t sliced = dim < 0 ? dim + input.dim() : dim;
  for (int64_t i = 0; i < input.dim(); ++i) {
    const auto expected = i == sliced ? num_values : static_cast<int64_t>(input.size(i));
    ET_CHECK_OR_RETURN_FALSE(src.size(i) == expected,
                             "slice_scatter: the source has the size %zd in dimension %d, expected %" PRId64,
                             static_cast<ssize_t>(src.size(i)), static_cast<int>(i), expected);
  }
  return true;
}

/// Limits `*start` and `*end`, which may count from the end, to [0, dim_length]. Returns the number of elements from
/// start to end, at distances of `step`.
inline int64_t adjust_slice_indices(int64_t dim_length, int64_t* start, int64_t* end, int64_t step) {
  for (int64_t* index : {start, end}) {
    *index = std::clamp<int64_t>(*index < 0 ? *index + dim_length : *index, 0, dim_length);
  }
  return *start < *end ? (*end - *start - 1) / step + 1 : 0;
}

/// Copies `length` elements of dimension `dim`, from `start` on, at distances of `step`. Both tensors are contiguous.
/// Sets InvalidArgument in the context if the elements are not within the dimension, or do not fit in `out`.
inline void compute_slice(::executorch::runtime::KernelRuntimeContext& ctx, const ::executorch::aten::Tensor& in,
                          int64_t dim, int64_t start, int64_t length, int64_t step, ::executorch::aten::Tensor& out) {
  if (length <= 0 || in.numel() == 0) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, dim >= 0 && dim < in.dim(), InvalidArgument, , "slice: a tensor of %zd dimensions has no %d",
                      static_cast<ssize_t>(in.dim()), static_cast<int>(dim));
  const auto size = static_cast<int64_t>(in.size(dim));
  ET_KERNEL_CHECK_MSG(
      ctx, start >= 0 && step > 0 && start < size && (length - 1) <= (size - 1 - start) / step, InvalidArgument, ,
      "slice: %" PRId64 " elements from %" PRId64 " on, with the step %" PRId64 ", are not within a size of %" PRId64,
      length, start, step, size);
  const size_t leading = ::executorch::runtime::getLeadingDims(in, dim);
  const size_t bytes = ::executorch::runtime::getTrailingDims(in, dim) * static_cast<size_t>(in.element_size());
  ET_KERNEL_CHECK_MSG(ctx, leading * static_cast<size_t>(length) * bytes <= out.nbytes(), InvalidArgument, ,
                      "slice: %zu bytes do not fit in the %zu of the result",
                      leading * static_cast<size_t>(length) * bytes, static_cast<size_t>(out.nbytes()));
  const auto* const from = static_cast<const char*>(in.const_data_ptr());
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  for (size_t row = 0; row < leading; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      const auto index = static_cast<size_t>(start + i * step);
      std::memcpy(to, from + (row * static_cast<size_t>(size) + index) * bytes, bytes);
      to += bytes;
    }
  }
}

}  // namespace executor
}  // namespace torch
