// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of operators that copy or reorder elements, for custom kernels. A check logs what it expected and
 * returns false. Functions for target sizes require that the check has passed and, unless their comment says otherwise,
 * dimensions that do not count from the end; `out_sizes` has room for kTensorDimensionLimit sizes.
 */
#pragma once

#include <algorithm>
#include <optional>

#include <executorch/kernels/portable/cpu/util/cat_util.h>
#include <executorch/kernels/portable/cpu/util/stack_util.h>
#include <executorch/kernels/portable/cpu/util/view_ops_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Checks that the elements that a view of `size` and `stride` has from `storage_offset` on are within `in`.
ET_NODISCARD inline bool check_as_strided_copy_args(const Tensor& in, ::executorch::aten::ArrayRef<int64_t> size,
                                                    ::executorch::aten::ArrayRef<int64_t> stride,
                                                    std::optional<int64_t> storage_offset, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_CHECK_OR_RETURN_FALSE(size.size() == stride.size(), "as_strided: %zu sizes and %zu strides", size.size(),
                           stride.size());
  const auto count = static_cast<int64_t>(in.numel());
  int64_t last = storage_offset.value_or(0);
  ET_CHECK_OR_RETURN_FALSE(last >= 0, "as_strided: expected an offset of 0 or more, found %" PRId64, last);
  for (size_t i = 0; i < size.size(); ++i) {
    ET_CHECK_OR_RETURN_FALSE(size[i] >= 0 && stride[i] >= 0,
                             "as_strided: expected sizes and strides of 0 or more, found %" PRId64 " and %" PRId64,
                             size[i], stride[i]);
  }
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] == 0) {
      return true;
    }
    // Compared before it is multiplied, so that nothing overflows.
    ET_CHECK_OR_RETURN_FALSE(last < count && (stride[i] == 0 || size[i] - 1 <= (count - 1 - last) / stride[i]),
                             "as_strided: the size %" PRId64 " and the stride %" PRId64 " reach beyond the %" PRId64
                             " elements",
                             size[i], stride[i], count);
    last += (size[i] - 1) * stride[i];
  }
  ET_CHECK_OR_RETURN_FALSE(last < count, "as_strided: element %" PRId64 " of %" PRId64, last, count);
  return true;
}

/// Copies the elements of a view of `size` and `stride`, which begins at `offset`, to `out`, which is contiguous. The
/// arguments have passed the check.
template <typename CTYPE>
void as_strided_copy(const Tensor& in, ::executorch::aten::ArrayRef<int64_t> size,
                     ::executorch::aten::ArrayRef<int64_t> stride, int64_t offset, Tensor& out) {
  const CTYPE* from = in.const_data_ptr<CTYPE>() + offset;
  CTYPE* to = out.mutable_data_ptr<CTYPE>();
  int64_t indexes[kTensorDimensionLimit] = {};
  for (size_t count = static_cast<size_t>(out.numel()); count > 0; --count) {
    *to++ = *from;
    for (size_t d = size.size(); d-- > 0;) {
      if (++indexes[d] < size[d]) {
        from += stride[d];
        break;
      }
      from -= (size[d] - 1) * stride[d];
      indexes[d] = 0;
    }
  }
}

/// Checks that `expand_sizes` has a size for each dimension of `input`, or more.
ET_NODISCARD inline bool check_expand_copy_args(const Tensor& input, ::executorch::aten::ArrayRef<int64_t> expand_sizes,
                                                bool implicit, Tensor& out) {
  ET_CHECK_OR_RETURN_FALSE(!implicit, "expand: implicit expansion is not supported");
  ET_CHECK_OR_RETURN_FALSE(
      expand_sizes.size() >= static_cast<size_t>(input.dim()) && expand_sizes.size() <= kTensorDimensionLimit,
      "expand: expected %zd to %zu sizes, found %zu", static_cast<ssize_t>(input.dim()), kTensorDimensionLimit,
      expand_sizes.size());
  return tensors_have_same_dtype(input, out);
}

/// A size of -1 keeps the size of the dimension. Returns false, and logs, if a size other than 1 is expanded.
ET_NODISCARD inline bool get_expand_copy_out_target_size(
    ::executorch::aten::ArrayRef<::executorch::aten::SizesType> self_sizes,
    ::executorch::aten::ArrayRef<int64_t> expand_sizes, ::executorch::aten::SizesType* output_sizes,
    size_t* output_rank) {
  *output_rank = 0;
  const size_t added = expand_sizes.size() - self_sizes.size();
  for (size_t i = 0; i < expand_sizes.size(); ++i) {
    const int64_t wanted = expand_sizes[i];
    const int64_t found = i < added ? 1 : static_cast<int64_t>(self_sizes[i - added]);
    const bool keeps = wanted == -1 && i >= added;
    ET_CHECK_OR_RETURN_FALSE(keeps || (wanted >= 0 && (found == 1 || wanted == found)),
                             "expand: the size %" PRId64 " in dimension %zu cannot become %" PRId64, found, i, wanted);
    output_sizes[i] = static_cast<::executorch::aten::SizesType>(keeps ? found : wanted);
  }
  *output_rank = expand_sizes.size();
  return true;
}

/// `dims` holds each dimension once; they may count from the end.
ET_NODISCARD inline bool check_permute_copy_args(const Tensor& in, ::executorch::aten::IntArrayRef dims, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(in, dims.size()));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  bool seen[kTensorDimensionLimit] = {};
  for (const int64_t dim : dims) {
    ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
    bool& is_seen = seen[dim < 0 ? dim + in.dim() : dim];
    ET_CHECK_OR_RETURN_FALSE(!is_seen, "permute: dimension %" PRId64 " occurs twice", dim);
    is_seen = true;
  }
  return true;
}

/// The sizes in the order of `dims`, which may count from the end.
inline void get_permute_copy_out_target_size(const Tensor& in, ::executorch::aten::IntArrayRef dims,
                                             ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  for (size_t i = 0; i < *out_ndim; ++i) {
    out_sizes[i] = static_cast<::executorch::aten::SizesType>(in.size(dims[i] < 0 ? dims[i] + in.dim() : dims[i]));
  }
}

/// `out` has a tensor of the right shape for each slice of dimension `dim`.
ET_NODISCARD inline bool check_unbind_copy_args(const Tensor& in, int64_t dim, TensorList out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(dim_is_valid(dim, in.dim()));
  dim += dim < 0 ? in.dim() : 0;
  ET_CHECK_OR_RETURN_FALSE(static_cast<int64_t>(out.size()) == in.size(dim),
                           "unbind: %zu results of a dimension of the size %zd", out.size(),
                           static_cast<ssize_t>(in.size(dim)));
  for (const Tensor& each : out) {
    ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(each, out[0]));
    ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(each, static_cast<size_t>(in.dim()) - 1));
    for (int64_t d = 0; d < each.dim(); ++d) {
      ET_LOG_AND_RETURN_IF_FALSE(
          tensors_have_same_size_at_dims(each, static_cast<size_t>(d), in, static_cast<size_t>(d < dim ? d : d + 1)));
    }
  }
  return true;
}

/// The channels of `in` are blocks of `upscale_factor` times `upscale_factor` pixels.
ET_NODISCARD inline bool check_pixel_shuffle_args(const Tensor& in, int64_t upscale_factor, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 3));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(out, 3));
  const auto channels = static_cast<int64_t>(in.size(in.dim() - 3));
  ET_CHECK_OR_RETURN_FALSE(
      upscale_factor > 0 && channels % upscale_factor == 0 && channels / upscale_factor % upscale_factor == 0,
      "pixel_shuffle: %" PRId64 " channels cannot be divided by the square of %" PRId64, channels, upscale_factor);
  return true;
}

/// Fewer channels, and a larger height and width.
inline void get_pixel_shuffle_out_target_size(const Tensor& in, int64_t upscale_factor,
                                              ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  const auto factor = static_cast<::executorch::aten::SizesType>(upscale_factor);
  out_sizes[*out_ndim - 3] /= factor * factor;
  out_sizes[*out_ndim - 2] *= factor;
  out_sizes[*out_ndim - 1] *= factor;
}

/// `upscale_factor` divides the height and the width.
ET_NODISCARD inline bool check_pixel_unshuffle_args(const Tensor& in, int64_t upscale_factor, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 3));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(out, 3));
  ET_CHECK_OR_RETURN_FALSE(
      upscale_factor > 0 && in.size(in.dim() - 1) % upscale_factor == 0 && in.size(in.dim() - 2) % upscale_factor == 0,
      "pixel_unshuffle: %zd times %zd pixels cannot be divided by %" PRId64,
      static_cast<ssize_t>(in.size(in.dim() - 2)), static_cast<ssize_t>(in.size(in.dim() - 1)), upscale_factor);
  return true;
}

/// More channels, and a smaller height and width.
inline void get_pixel_unshuffle_out_target_size(const Tensor& in, int64_t upscale_factor,
                                                ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  const auto factor = static_cast<::executorch::aten::SizesType>(upscale_factor);
  out_sizes[*out_ndim - 3] *= factor * factor;
  out_sizes[*out_ndim - 2] /= factor;
  out_sizes[*out_ndim - 1] /= factor;
}

/// Slice `index` of dimension `dim`; both may count from the end.
ET_NODISCARD inline bool check_select_copy_out_args(const Tensor& in, int64_t dim, int64_t index, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_dim_has_index(in, dim, index));
  return tensors_have_same_dtype(in, out);
}

/// The sizes without dimension `dim`.
inline void get_select_copy_out_target_size(const Tensor& in, int64_t dim, ::executorch::aten::SizesType* out_sizes,
                                            size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim()) - 1;
  std::copy(in.sizes().begin() + dim + 1, in.sizes().end(),
            std::copy(in.sizes().begin(), in.sizes().begin() + dim, out_sizes));
}

/// Checks that the sizes of the parts add up to the size of dimension `dim`, and that there is a result for each part.
ET_NODISCARD inline bool check_split_with_sizes_copy_args(const Tensor& in,
                                                          ::executorch::aten::ArrayRef<int64_t> split_sizes,
                                                          int64_t dim, TensorList out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_CHECK_OR_RETURN_FALSE(split_sizes.size() == out.size(), "split: %zu parts and %zu results", split_sizes.size(),
                           out.size());
  auto left = static_cast<int64_t>(in.size(dim < 0 ? dim + in.dim() : dim));
  for (const int64_t size : split_sizes) {
    ET_CHECK_OR_RETURN_FALSE(size >= 0 && size <= left, "split: a part of %" PRId64 ", with %" PRId64 " elements left",
                             size, left);
    left -= size;
  }
  ET_CHECK_OR_RETURN_FALSE(left == 0, "split: the parts leave %" PRId64 " elements", left);
  return true;
}

/// The sizes with `split_size` in dimension `dim`.
inline void get_split_with_sizes_copy_out_target_size(const Tensor& in, int64_t split_size, int64_t dim,
                                                      ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  out_sizes[dim] = static_cast<::executorch::aten::SizesType>(split_size);
}

/// There is a result for each part of `split_size` elements of dimension `dim`; the last part may be smaller.
ET_NODISCARD inline bool check_split_copy_args(const Tensor& input, int64_t split_size, int64_t dim, TensorList out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(input, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(input, dim));
  const auto size = static_cast<int64_t>(input.size(dim < 0 ? dim + input.dim() : dim));
  ET_CHECK_OR_RETURN_FALSE(split_size > 0 || (split_size == 0 && size == 0),
                           "split: parts of %" PRId64 " of %" PRId64 " elements", split_size, size);
  const int64_t parts = size == 0 ? 1 : (size - 1) / split_size + 1;
  ET_CHECK_OR_RETURN_FALSE(static_cast<int64_t>(out.size()) == parts, "split: %" PRId64 " parts and %zu results", parts,
                           out.size());
  return true;
}

/// Checks that the input is a matrix or a batch of matrices.
ET_NODISCARD inline bool check_tril_args(const Tensor& in, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  return tensor_has_rank_greater_or_equal_to(in, 2);
}

/// Two different dimensions, which may count from the end.
ET_NODISCARD inline bool check_diagonal_copy_args(const Tensor& in, int64_t dim1, int64_t dim2, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim1));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim2));
  ET_CHECK_OR_RETURN_FALSE((dim1 - dim2) % in.dim() != 0, "diagonal: expected two dimensions, found %" PRId64 " twice",
                           dim1);
  return true;
}

/// The other dimensions, then the elements of the diagonal that is `offset` above the main one.
inline void get_diagonal_copy_out_target_size(const Tensor& in, int64_t offset, int64_t dim1, int64_t dim2,
                                              ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim()) - 1;
  const auto rows = static_cast<int64_t>(in.size(dim1)), columns = static_cast<int64_t>(in.size(dim2));
  const int64_t length = std::min(offset < 0 ? rows + offset : rows, offset > 0 ? columns - offset : columns);
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim1 && d != dim2) {
      *out_sizes++ = static_cast<::executorch::aten::SizesType>(in.size(d));
    }
  }
  *out_sizes = static_cast<::executorch::aten::SizesType>(std::max<int64_t>(length, 0));
}

}  // namespace executor
}  // namespace torch
