// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Broadcasting, for custom kernels: shapes are aligned at their last dimension, and a size of 1 matches any other size.
 * Elements are numbered in logical order, independent of the order in memory.
 */
#pragma once

#include <algorithm>

#include <executorch/kernels/portable/cpu/util/delinearize_index.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Whether a tensor of the first shape can be broadcast to the second shape.
inline bool tensor_is_broadcastable_to(::executorch::aten::ArrayRef<::executorch::aten::SizesType> broadcast_from_shape,
                                       ::executorch::aten::ArrayRef<::executorch::aten::SizesType> broadcast_to_shape) {
  if (broadcast_from_shape.size() > broadcast_to_shape.size()) {
    return false;
  }
  const size_t added = broadcast_to_shape.size() - broadcast_from_shape.size();
  for (size_t i = 0; i < broadcast_from_shape.size(); ++i) {
    if (broadcast_from_shape[i] != 1 && broadcast_from_shape[i] != broadcast_to_shape[added + i]) {
      return false;
    }
  }
  return true;
}

inline bool tensor_is_broadcastable_to(const ::executorch::aten::Tensor& broadcast_from,
                                       const ::executorch::aten::Tensor& broadcast_to) {
  return tensor_is_broadcastable_to(broadcast_from.sizes(), broadcast_to.sizes());
}

/// Whether there is a shape that both can be broadcast to.
inline bool tensors_are_broadcastable_between(::executorch::aten::ArrayRef<::executorch::aten::SizesType> a_shape,
                                              ::executorch::aten::ArrayRef<::executorch::aten::SizesType> b_shape) {
  const size_t shared = std::min(a_shape.size(), b_shape.size());
  for (size_t i = 1; i <= shared; ++i) {
    const auto a = a_shape[a_shape.size() - i];
    const auto b = b_shape[b_shape.size() - i];
    if (a != b && a != 1 && b != 1) {
      return false;
    }
  }
  return true;
}

inline bool tensors_are_broadcastable_between(const ::executorch::aten::Tensor& a,
                                              const ::executorch::aten::Tensor& b) {
  return tensors_are_broadcastable_between(a.sizes(), b.sizes());
}

/**
 * The smallest shape that both can be broadcast to.
 *
 * @param out_sizes Has room for `out_sizes_len` sizes, of which `*out_dim` are written.
 * @retval Error::InvalidArgument (logged) there is no such shape, or it does not fit.
 */
ET_NODISCARD inline ::executorch::runtime::Error get_broadcast_target_size(
    ::executorch::aten::ArrayRef<::executorch::aten::SizesType> a_size,
    ::executorch::aten::ArrayRef<::executorch::aten::SizesType> b_size, ::executorch::aten::SizesType* out_sizes,
    size_t out_sizes_len, size_t* out_dim) {
  ET_CHECK_OR_RETURN_ERROR(tensors_are_broadcastable_between(a_size, b_size), InvalidArgument,
                           "two tensors of %zu and %zu dimensions cannot be broadcast to one shape", a_size.size(),
                           b_size.size());
  const size_t dim = std::max(a_size.size(), b_size.size());
  ET_CHECK_OR_RETURN_ERROR(dim <= out_sizes_len, InvalidArgument, "%zu sizes do not fit in an array of %zu", dim,
                           out_sizes_len);
  for (size_t i = 1; i <= dim; ++i) {
    const auto a = i <= a_size.size() ? a_size[a_size.size() - i] : 1;
    const auto b = i <= b_size.size() ? b_size[b_size.size() - i] : 1;
    out_sizes[dim - i] = static_cast<::executorch::aten::SizesType>(a == 1 ? b : a);
  }
  *out_dim = dim;
  return ::executorch::runtime::Error::Ok;
}

ET_NODISCARD inline ::executorch::runtime::Error get_broadcast_target_size(const ::executorch::aten::Tensor& a,
                                                                           const ::executorch::aten::Tensor& b,
                                                                           ::executorch::aten::SizesType* out_sizes,
                                                                           size_t out_sizes_len, size_t* out_dim) {
  return get_broadcast_target_size(a.sizes(), b.sizes(), out_sizes, out_sizes_len, out_dim);
}

/// Resizes `out` to the shape that both operands are broadcast to.
ET_NODISCARD inline ::executorch::runtime::Error resize_to_broadcast_target_size(const ::executorch::aten::Tensor& a,
                                                                                 const ::executorch::aten::Tensor& b,
                                                                                 ::executorch::aten::Tensor& out) {
  ::executorch::aten::SizesType sizes[::executorch::runtime::kTensorDimensionLimit];
  size_t dim = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(
      get_broadcast_target_size(a, b, sizes, ::executorch::runtime::kTensorDimensionLimit, &dim));
  return ::executorch::runtime::resize_tensor(out, {sizes, dim});
}

/// Like the function above, for three operands.
ET_NODISCARD inline ::executorch::runtime::Error resize_to_broadcast_target_size(const ::executorch::aten::Tensor& a,
                                                                                 const ::executorch::aten::Tensor& b,
                                                                                 const ::executorch::aten::Tensor& c,
                                                                                 ::executorch::aten::Tensor& out) {
  constexpr size_t kLimit = ::executorch::runtime::kTensorDimensionLimit;
  ::executorch::aten::SizesType both[kLimit];
  ::executorch::aten::SizesType sizes[kLimit];
  size_t dim = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(get_broadcast_target_size(a, b, both, kLimit, &dim));
  ET_CHECK_OK_OR_RETURN_ERROR(get_broadcast_target_size({both, dim}, c.sizes(), sizes, kLimit, &dim));
  return ::executorch::runtime::resize_tensor(out, {sizes, dim});
}

/// The position in the memory of `broadcast_from` of the element that is read for these indexes of the larger shape.
inline size_t linearize_access_indexes(::executorch::aten::ArrayRef<size_t> indexes_broadcast_to,
                                       ssize_t broadcast_to_ndim, const ::executorch::aten::Tensor& broadcast_from) {
  const auto sizes = broadcast_from.sizes();
  const auto strides = broadcast_from.strides();
  ET_CHECK_MSG(static_cast<ssize_t>(sizes.size()) <= broadcast_to_ndim, "%zu dimensions are broadcast to %zd",
               sizes.size(), broadcast_to_ndim);
  const size_t added = static_cast<size_t>(broadcast_to_ndim) - sizes.size();
  size_t position = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    position += sizes[i] == 1 ? 0 : indexes_broadcast_to[added + i] * static_cast<size_t>(strides[i]);
  }
  return position;
}

/// Calls `compute(indexes)` for each element of a tensor.
template <typename Compute>
void apply_over_indexes(const ::executorch::aten::Tensor& out, const Compute& compute) {
  constexpr size_t kLimit = ::executorch::runtime::kTensorDimensionLimit;
  size_t indexes[kLimit] = {};
  const auto count = static_cast<size_t>(out.numel());
  for (size_t i = 0; i < count; ++i) {
    delinearize_index(i, out, indexes, kLimit);
    compute(::executorch::aten::ArrayRef<size_t>(indexes, static_cast<size_t>(out.dim())));
  }
}

/// `out` = compute(a, b) of each element. `out` has the shape that both are broadcast to.
template <typename CTYPE_A, typename CTYPE_B, typename CTYPE_OUT, typename Op>
void apply_binary_elementwise_fn(const Op& compute_fun, const ::executorch::aten::Tensor& a,
                                 const ::executorch::aten::Tensor& b, const ::executorch::aten::Tensor& out) {
  const CTYPE_A* const data_a = a.template const_data_ptr<CTYPE_A>();
  const CTYPE_B* const data_b = b.template const_data_ptr<CTYPE_B>();
  CTYPE_OUT* const data_out = out.template mutable_data_ptr<CTYPE_OUT>();
  apply_over_indexes(out, [&](::executorch::aten::ArrayRef<size_t> indexes) {
    const auto position = [&](const ::executorch::aten::Tensor& t) {
      return linearize_access_indexes(indexes, out.dim(), t);
    };
    data_out[position(out)] = compute_fun(data_a[position(a)], data_b[position(b)]);
  });
}

/// `out` = compute(a, b, c) of each element, in the same way.
template <typename CTYPE_A, typename CTYPE_B, typename CTYPE_C, typename CTYPE_OUT, typename Op>
void apply_ternary_elementwise_fn(const Op& compute_fun, const ::executorch::aten::Tensor& a,
                                  const ::executorch::aten::Tensor& b, const ::executorch::aten::Tensor& c,
                                  const ::executorch::aten::Tensor& out) {
  const CTYPE_A* const data_a = a.template const_data_ptr<CTYPE_A>();
  const CTYPE_B* const data_b = b.template const_data_ptr<CTYPE_B>();
  const CTYPE_C* const data_c = c.template const_data_ptr<CTYPE_C>();
  CTYPE_OUT* const data_out = out.template mutable_data_ptr<CTYPE_OUT>();
  apply_over_indexes(out, [&](::executorch::aten::ArrayRef<size_t> indexes) {
    const auto position = [&](const ::executorch::aten::Tensor& t) {
      return linearize_access_indexes(indexes, out.dim(), t);
    };
    data_out[position(out)] = compute_fun(data_a[position(a)], data_b[position(b)], data_c[position(c)]);
  });
}

}  // namespace executor
}  // namespace torch
