// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of operators that give elements another shape, dtype or order in memory, for custom kernels; a part of
 * copy_ops_util.h, which says what its functions assume.
 */
#pragma once

#include <algorithm>
#include <optional>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Dimension `dim`, which is removed if its size is 1.
ET_NODISCARD inline bool check_squeeze_copy_dim_args(const Tensor in, int64_t dim, const Tensor out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  return tensor_has_dim(in, dim);
}

/// Dimensions that exist and occur once, and may count from the end.
ET_NODISCARD inline bool check_squeeze_copy_dims_args(const Tensor in, const ::executorch::aten::ArrayRef<int64_t> dims,
                                                      const Tensor out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  bool seen[kTensorDimensionLimit] = {};
  for (const int64_t dim : dims) {
    ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
    bool& is_seen = seen[dim < 0 ? dim + nonzero_dim(in) : dim];
    ET_CHECK_OR_RETURN_FALSE(!is_seen, "squeeze: dimension %" PRId64 " occurs twice", dim);
    is_seen = true;
  }
  return true;
}

/// `dims` may count from the end.
inline void get_squeeze_copy_dims_out_target_size(const Tensor in, const ::executorch::aten::ArrayRef<int64_t> dims,
                                                  ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = 0;
  for (int64_t d = 0; d < in.dim(); ++d) {
    const bool is_named =
        std::any_of(dims.begin(), dims.end(), [&](int64_t dim) { return (dim < 0 ? dim + in.dim() : dim) == d; });
    if (!is_named || in.size(d) != 1) {
      out_sizes[(*out_ndim)++] = static_cast<::executorch::aten::SizesType>(in.size(d));
    }
  }
}

inline void get_squeeze_copy_dim_out_target_size(const Tensor in, int64_t dim, ::executorch::aten::SizesType* out_sizes,
                                                 size_t* out_ndim) {
  get_squeeze_copy_dims_out_target_size(in, ::executorch::aten::ArrayRef<int64_t>(&dim, 1), out_sizes, out_ndim);
}

/// `out` has the shape of `input` with a size of 1 before dimension `dim`, which may count from the end of the result.
ET_NODISCARD inline bool check_unsqueeze_copy_args(const Tensor input, int64_t dim, const Tensor out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(input, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, static_cast<size_t>(input.dim()) + 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(out, dim));
  dim += dim < 0 ? out.dim() : 0;
  for (int64_t d = 0; d < out.dim(); ++d) {
    const auto expected = d == dim ? 1 : input.size(d < dim ? d : d - 1);
    ET_CHECK_OR_RETURN_FALSE(out.size(d) == expected, "unsqueeze: expected the size %zd in dimension %d, found %zd",
                             static_cast<ssize_t>(expected), static_cast<int>(d), static_cast<ssize_t>(out.size(d)));
  }
  return true;
}

/**
 * Writes the `dim` sizes of a view. One of them may be -1; it is computed from the others. Returns false, and logs, if
 * the view would have another number of elements.
 */
ET_NODISCARD inline bool get_view_copy_target_size(const Tensor input,
                                                   ::executorch::aten::ArrayRef<int64_t> size_int64_t, int64_t dim,
                                                   ::executorch::aten::SizesType* out_sizes) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<int64_t>(size_int64_t.size()) == dim,
                           "view: %zu sizes of a result of %" PRId64 " dimensions", size_int64_t.size(), dim);
  const auto count = static_cast<int64_t>(input.numel());
  int64_t product = 1;
  int64_t open = -1;
  for (int64_t d = 0; d < dim; ++d) {
    const int64_t size = size_int64_t[static_cast<size_t>(d)];
    if (size == -1) {
      ET_CHECK_OR_RETURN_FALSE(open < 0, "view: more than one size is -1");
      open = d;
      continue;
    }
    ET_CHECK_OR_RETURN_FALSE(size >= 0 && (size == 0 || product <= INT64_MAX / size),
                             "view: the size %" PRId64 " in dimension %" PRId64, size, d);
    product *= size;
    out_sizes[d] = static_cast<::executorch::aten::SizesType>(size);
  }
  ET_CHECK_OR_RETURN_FALSE(open < 0 ? product == count : product > 0 && count % product == 0,
                           "view: %" PRId64 " elements do not have sizes whose product is %" PRId64, count, product);
  if (open >= 0) {
    out_sizes[open] = static_cast<::executorch::aten::SizesType>(count / product);
  }
  return true;
}

/// Checks that the sizes of a view are those of `out`.
ET_NODISCARD inline bool check_view_copy_args(const Tensor& self, ::executorch::aten::ArrayRef<int64_t> size_int64_t,
                                              Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(self, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, size_int64_t.size()));
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  if (!get_view_copy_target_size(self, size_int64_t, static_cast<int64_t>(size_int64_t.size()), sizes)) {
    return false;
  }
  return tensor_has_expected_size(
      out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, size_int64_t.size()));
}

/// Checks that the copy is blocking, and that its memory format, if one is given, is contiguous.
ET_NODISCARD inline bool check_to_copy_args(const Tensor& input, bool non_blocking,
                                            std::optional<::executorch::aten::MemoryFormat> memory_format,
                                            Tensor& out) {
  (void)input;
  (void)out;
  ET_CHECK_OR_RETURN_FALSE(!non_blocking, "to: non-blocking copies are not supported");
  ET_CHECK_OR_RETURN_FALSE(!memory_format || *memory_format == MemoryFormat::Contiguous,
                           "to: expected the memory format Contiguous, found %d", static_cast<int>(*memory_format));
  return true;
}

/// Checks that `out` has the dim order `dim_order`, or that of `input` if it is not given, and as many dimensions as
/// `input`.
ET_NODISCARD inline bool check__to_dim_order_copy_args(const Tensor& input, bool non_blocking,
                                                       ::executorch::aten::OptionalArrayRef<int64_t> dim_order,
                                                       Tensor& out) {
  ET_CHECK_OR_RETURN_FALSE(!non_blocking, "_to_dim_order_copy: non-blocking copies are not supported");
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(input, out));
  if (!dim_order.has_value()) {
    // Without one, the order of the input is kept.
    return tensors_have_same_dim_order(input, out);
  }
  ET_CHECK_OR_RETURN_FALSE(static_cast<ssize_t>(dim_order->size()) == out.dim(),
                           "_to_dim_order_copy: %zu entries for %zd dimensions", dim_order->size(),
                           static_cast<ssize_t>(out.dim()));
  ::executorch::aten::DimOrderType found[kTensorDimensionLimit];
  ET_LOG_AND_RETURN_IF_FALSE(get_dim_order(out, found, static_cast<size_t>(out.dim())) == Error::Ok);
  for (size_t i = 0; i < dim_order->size(); ++i) {
    ET_CHECK_OR_RETURN_FALSE((*dim_order)[i] == static_cast<int64_t>(found[i]),
                             "_to_dim_order_copy: expected dimension %" PRId64 " at index %zu, found %d",
                             (*dim_order)[i], i, static_cast<int>(found[i]));
  }
  return true;
}

}  // namespace executor
}  // namespace torch
