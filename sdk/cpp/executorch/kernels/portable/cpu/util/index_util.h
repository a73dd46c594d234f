// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of gathering and scattering, for custom kernels. A check logs what it expected and returns false.
 * Checks read the indices (check_select_scatter_args has none). A scalar counts as a vector of one element.
 */
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace internal {

/// Whether all indices, of an integer dtype, are in [0, size).
template <typename Index>
ET_NODISCARD bool indices_are_within(const ::executorch::aten::Tensor& index, int64_t size) {
  const auto* const indices = index.template const_data_ptr<Index>();
  for (size_t i = 0; i < static_cast<size_t>(index.numel()); ++i) {
    ET_CHECK_OR_RETURN_FALSE(indices[i] >= 0 && static_cast<int64_t>(indices[i]) < size,
                             "index %zu is %" PRId64 ", expected at least 0 and less than %" PRId64, i,
                             static_cast<int64_t>(indices[i]), size);
  }
  return true;
}

ET_NODISCARD inline bool index_is_int64(const ::executorch::aten::Tensor& index) {
  ET_CHECK_OR_RETURN_FALSE(index.scalar_type() == ::executorch::aten::ScalarType::Long,
                           "expected indices of dtype Long, found %s",
                           ::executorch::runtime::toString(index.scalar_type()));
  return true;
}

/// Whether `index` is at most as large as `other` in all dimensions but `except`.
ET_NODISCARD inline bool index_fits(const ::executorch::aten::Tensor& index, const ::executorch::aten::Tensor& other,
                                    const char* name, int64_t except = -1) {
  ET_CHECK_OR_RETURN_FALSE(nonzero_dim(index) == nonzero_dim(other), "the index has %zd dimensions, and %s has %zd",
                           static_cast<ssize_t>(nonzero_dim(index)), name, static_cast<ssize_t>(nonzero_dim(other)));
  for (ssize_t i = 0; i < nonzero_dim(other); ++i) {
    ET_CHECK_OR_RETURN_FALSE(i == except || nonempty_size(index, i) <= nonempty_size(other, i),
                             "the index has the size %zd in dimension %zd, and %s only %zd",
                             static_cast<ssize_t>(nonempty_size(index, i)), i, name,
                             static_cast<ssize_t>(nonempty_size(other, i)));
  }
  return true;
}

}  // namespace internal

/// out[..., i, ...] = in[..., index[..., i, ...], ...], with i in dimension `dim`.
ET_NODISCARD inline bool check_gather_args(const ::executorch::aten::Tensor& in, int64_t dim,
                                           const ::executorch::aten::Tensor& index, bool /*sparse_grad*/,
                                           ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_LOG_AND_RETURN_IF_FALSE(internal::index_is_int64(index));
  if (index.numel() == 0) {
    return true;
  }
  const int64_t gathered = dim < 0 ? dim + nonzero_dim(in) : dim;
  ET_LOG_AND_RETURN_IF_FALSE(internal::index_fits(index, in, "the input", gathered));
  return internal::indices_are_within<int64_t>(index, nonempty_size(in, static_cast<ssize_t>(gathered)));
}

/// Selects slices of `in` along dimension `dim`; `index`, a vector of Int or Long, has their numbers.
ET_NODISCARD inline bool check_index_select_args(const ::executorch::aten::Tensor& in, int64_t dim,
                                                 const ::executorch::aten::Tensor& index,
                                                 ::executorch::aten::Tensor& out) {
  using ::executorch::aten::ScalarType;
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_smaller_or_equal_to(index, 1));
  const bool is_long = index.scalar_type() == ScalarType::Long;
  ET_CHECK_OR_RETURN_FALSE(is_long || index.scalar_type() == ScalarType::Int,
                           "expected indices of dtype Int or Long, found %s",
                           ::executorch::runtime::toString(index.scalar_type()));
  ET_CHECK_OR_RETURN_FALSE(in.dim() > 0 || index.numel() == 1, "a scalar has one element, and %zd are selected",
                           static_cast<ssize_t>(index.numel()));
  const auto size = nonempty_size(in, static_cast<ssize_t>(dim < 0 ? dim + nonzero_dim(in) : dim));
  ET_CHECK_OR_RETURN_FALSE(size > 0, "dimension %d has no elements to select", static_cast<int>(dim));
  return is_long ? internal::indices_are_within<int64_t>(index, size)
                 : internal::indices_are_within<int32_t>(index, size);
}

/// `dim` does not count from the end.
inline void get_index_select_out_target_size(const ::executorch::aten::Tensor& in, int64_t dim,
                                             const ::executorch::aten::Tensor& index,
                                             ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  for (int64_t i = 0; i < in.dim(); ++i) {
    out_sizes[i] = static_cast<::executorch::aten::SizesType>(i == dim ? index.numel() : in.size(i));
  }
}

/// `out` is a matrix of Long.
ET_NODISCARD inline bool check_nonzero_args(const ::executorch::aten::Tensor& /*in*/,
                                            const ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(internal::index_is_int64(out));
  return tensor_is_rank(out, 2);
}

/// out[..., index[..., i, ...], ...] += src[..., i, ...], with i in dimension `dim`.
ET_NODISCARD inline bool check_scatter_add_args(const ::executorch::aten::Tensor& self, int64_t dim,
                                                const ::executorch::aten::Tensor& index,
                                                const ::executorch::aten::Tensor& src,
                                                ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(self, src));
  ET_LOG_AND_RETURN_IF_FALSE(check_gather_args(self, dim, index, false, out));
  return index.numel() == 0 || internal::index_fits(index, src, "the source");
}

/// out[..., index[..., i, ...], ...] = src[..., i, ...].
ET_NODISCARD inline bool check_scatter_src_args(const ::executorch::aten::Tensor& self, int64_t dim,
                                                const ::executorch::aten::Tensor& index,
                                                const ::executorch::aten::Tensor& src,
                                                ::executorch::aten::Tensor& out) {
  return check_scatter_add_args(self, dim, index, src, out);
}

/// out[..., index[..., i, ...], ...] = value.
ET_NODISCARD inline bool check_scatter_value_args(const ::executorch::aten::Tensor& self, int64_t dim,
                                                  const ::executorch::aten::Tensor& index,
                                                  const ::executorch::aten::Scalar& /*value*/,
                                                  ::executorch::aten::Tensor& out) {
  return check_gather_args(self, dim, index, false, out);
}

/// `src` replaces slice `index` of dimension `dim`. Neither counts from the end.
ET_NODISCARD inline bool check_select_scatter_args(const ::executorch::aten::Tensor& in,
                                                   const ::executorch::aten::Tensor& src, int64_t dim, int64_t index,
                                                   ::executorch::aten::Tensor& output) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, output));
  ET_CHECK_OR_RETURN_FALSE(dim >= 0 && dim < in.dim() && index >= 0 && index < in.size(dim),
                           "there is no index %" PRId64 " in dimension %" PRId64, index, dim);
  ET_CHECK_OR_RETURN_FALSE(src.dim() + 1 == in.dim(), "the source has %zd dimensions, expected %zd",
                           static_cast<ssize_t>(src.dim()), static_cast<ssize_t>(in.dim() - 1));
  for (int64_t i = 0; i < src.dim(); ++i) {
    const int64_t other = i < dim ? i : i + 1;
    ET_LOG_AND_RETURN_IF_FALSE(
        tensors_have_same_size_at_dims(in, static_cast<size_t>(other), src, static_cast<size_t>(i)));
  }
  return true;
}

}  // namespace executor
}  // namespace torch
