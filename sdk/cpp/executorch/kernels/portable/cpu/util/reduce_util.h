// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Reductions over dimensions, for custom kernels. Without dimensions, and with an empty list of them, all are reduced;
 * a scalar counts as a vector of one element. Elements of results are numbered in logical order, independent of the
 * order in memory.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

using OptionalDim = std::optional<int64_t>;
using OptionalDimList = std::optional<::executorch::aten::ArrayRef<int64_t>>;

/// Whether each dimension is valid and occurs once. Logs if not.
ET_NODISCARD inline bool check_dim_list_is_valid(const ::executorch::aten::Tensor& in,
                                                 const OptionalDimList& dim_list) {
  bool seen[::executorch::runtime::kTensorDimensionLimit] = {};
  const auto rank = static_cast<int64_t>(::executorch::runtime::nonzero_dim(in));
  for (size_t i = 0; dim_list && i < dim_list->size(); ++i) {
    const int64_t dim = (*dim_list)[i];
    ET_LOG_AND_RETURN_IF_FALSE(::executorch::runtime::dim_is_valid(dim, rank));
    bool& is_seen = seen[dim < 0 ? dim + rank : dim];
    ET_CHECK_OR_RETURN_FALSE(!is_seen, "dimension %d is in the list twice", static_cast<int>(dim));
    is_seen = true;
  }
  return true;
}

/// Whether dimension `dim` of `max_dim` is in the list, which may count from the end.
inline bool check_dim_in_dim_list(const size_t dim, const size_t max_dim,
                                  const ::executorch::aten::ArrayRef<int64_t>& dim_list) {
  return std::any_of(dim_list.begin(), dim_list.end(), [&](int64_t each) {
    return dim == static_cast<size_t>(each < 0 ? each + static_cast<int64_t>(max_dim) : each);
  });
}

namespace internal {

/// The dimensions of a tensor that are reduced, and those that are kept.
class ReducedDims {
 public:
  /// Aborts if the list is not valid.
  ReducedDims(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list)
      : in_(in), all_(!dim_list || dim_list->empty() || in.dim() == 0) {
    ET_CHECK_MSG(check_dim_list_is_valid(in, dim_list), "the dimensions cannot be reduced; the line above says why");
    for (size_t i = 0; i < rank(); ++i) {
      reduced_[i] = all_ || check_dim_in_dim_list(i, rank(), *dim_list);
    }
  }
  ReducedDims(const ::executorch::aten::Tensor& in, const OptionalDim& dim)
      : ReducedDims(in, dim ? OptionalDimList({&*dim, 1}) : OptionalDimList()) {}

  size_t rank() const { return static_cast<size_t>(in_.dim()); }
  bool has(size_t dim) const { return reduced_[dim]; }

  /// The product of the sizes of the dimensions that are reduced, or of those that are kept.
  size_t count(bool reduced) const {
    size_t product = 1;
    for (size_t i = 0; i < rank(); ++i) {
      product *= reduced_[i] == reduced ? static_cast<size_t>(in_.sizes()[i]) : 1;
    }
    return product;
  }

  /// The position in memory of element `index` of those dimensions, relative to the element with index 0 in the others.
  size_t position(size_t index, bool reduced) const {
    size_t found = 0;
    for (size_t i = rank(); i-- > 0;) {
      const auto size = static_cast<size_t>(in_.sizes()[i]);
      if (reduced_[i] == reduced && size > 0) {
        found += index % size * static_cast<size_t>(in_.strides()[i]);
        index /= size;
      }
    }
    return found;
  }

  /// The sizes of the result. Returns their number.
  size_t sizes(bool keepdim, ::executorch::aten::SizesType* out) const {
    size_t count = 0;
    for (size_t i = 0; i < rank(); ++i) {
      if (keepdim || !reduced_[i]) {
        out[count++] = reduced_[i] ? 1 : static_cast<::executorch::aten::SizesType>(in_.sizes()[i]);
      }
    }
    return count;
  }

  /// Calls `fn(position, index)` for the elements of result `out_ix` from `start` to `end`; negative: from the end.
  template <typename Fn>
  void for_each(const Fn& fn, size_t out_ix, int64_t start, int64_t end) const {
    ET_CHECK_MSG(out_ix < count(false), "there is no element %zu of %zu in the result", out_ix, count(false));
    const auto length = static_cast<int64_t>(count(true));
    const size_t base = position(out_ix, false);
    const int64_t last = std::min(end < 0 ? end + length : end, length - 1);
    for (int64_t i = std::max<int64_t>(start < 0 ? start + length : start, 0); i <= last; ++i) {
      fn(base + position(static_cast<size_t>(i), true), static_cast<size_t>(i));
    }
  }

 private:
  const ::executorch::aten::Tensor& in_;
  bool all_;
  bool reduced_[::executorch::runtime::kTensorDimensionLimit] = {};
};

}  // namespace internal

/// The number of elements from which an element of the result is computed.
inline size_t get_reduced_dim_product(const ::executorch::aten::Tensor& in, const OptionalDim& dim) {
  return internal::ReducedDims(in, dim).count(true);
}
inline size_t get_reduced_dim_product(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list) {
  return internal::ReducedDims(in, dim_list).count(true);
}

/// The number of elements of the result.
inline size_t get_out_numel(const ::executorch::aten::Tensor& in, const OptionalDim& dim) {
  return internal::ReducedDims(in, dim).count(false);
}
inline size_t get_out_numel(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list) {
  return internal::ReducedDims(in, dim_list).count(false);
}

/// The position in memory of the first element that belongs to element `out_ix` of the result.
inline size_t get_init_index(const ::executorch::aten::Tensor& in, const OptionalDim& dim, const size_t out_ix) {
  return internal::ReducedDims(in, dim).position(out_ix, false);
}
inline size_t get_init_index(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list,
                             const size_t out_ix) {
  return internal::ReducedDims(in, dim_list).position(out_ix, false);
}

/// Calls `fn(size, stride, base)` for each element of the result. The elements that it reduces are at `base`, `base` +
/// `stride`, and so on. Without a dimension, there is one call for all elements.
template <typename Fn>
void apply_over_dim(const Fn& fn, const ::executorch::aten::Tensor& in, const OptionalDim& dim) {
  const internal::ReducedDims dims(in, dim);
  if (!dim || in.dim() == 0) {
    fn(static_cast<size_t>(in.numel()), size_t{1}, size_t{0});
    return;
  }
  const auto reduced = static_cast<size_t>(*dim < 0 ? *dim + in.dim() : *dim);
  const size_t count = in.numel() == 0 ? 0 : dims.count(false);
  for (size_t i = 0; i < count; ++i) {
    fn(static_cast<size_t>(in.sizes()[reduced]), static_cast<size_t>(in.strides()[reduced]), dims.position(i, false));
  }
}

/// Calls `fn(position, index)` for the elements that are reduced to element `out_ix` of the result: its position in
/// memory, and its index in the dimension, from `start` to `end` inclusive, which may count from the end.
template <typename Fn>
void apply_over_dim(const Fn& fn, const ::executorch::aten::Tensor& in, const OptionalDim& dim, const size_t out_ix,
                    const int64_t start = 0, const int64_t end = -1) {
  internal::ReducedDims(in, dim).for_each(fn, out_ix, start, end);
}

/// Like the function above, for several dimensions: calls `fn(position)`.
template <typename Fn>
void apply_over_dim_list(const Fn& fn, const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list,
                         const size_t out_ix, const int64_t start = 0, const int64_t end = -1) {
  internal::ReducedDims(in, dim_list)
      .for_each([&fn](size_t position, size_t /*index*/) { fn(position); }, out_ix, start, end);
}

/// Reduces map_fun(element) with `reduce_fun(next, next_index, so_far, index_so_far)`, which gives a tuple of both.
/// Aborts if there are no elements.
template <typename CTYPE_IN, typename CTYPE_OUT, typename MapOp, typename ReduceOp>
std::tuple<CTYPE_OUT, long> map_reduce_over_dim(const MapOp& map_fun, const ReduceOp& reduce_fun,
                                                const ::executorch::aten::Tensor& in, const OptionalDim& dim,
                                                const size_t out_ix) {
  ET_CHECK_MSG(in.numel() > 0, "a reduction needs an element");
  const auto* const data = in.template const_data_ptr<CTYPE_IN>();
  std::tuple<CTYPE_OUT, long> result{};
  apply_over_dim(
      [&](size_t position, size_t index) {
        const CTYPE_OUT next = map_fun(data[position]);
        const auto i = static_cast<long>(index);
        result = i == 0 ? std::tuple<CTYPE_OUT, long>(next, 0)
                        : std::tuple<CTYPE_OUT, long>(reduce_fun(next, i, std::get<0>(result), std::get<1>(result)));
      },
      in, dim, out_ix);
  return result;
}

/// Reduces map_fun(element) with `reduce_fun(next, so_far)`. Aborts if there are no elements.
template <typename CTYPE_IN, typename CTYPE_OUT, typename MapOp, typename ReduceOp>
CTYPE_OUT map_reduce_over_dim_list(const MapOp& map_fun, const ReduceOp& reduce_fun,
                                   const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list,
                                   const size_t out_ix) {
  ET_CHECK_MSG(in.numel() > 0, "a reduction needs an element");
  const auto* const data = in.template const_data_ptr<CTYPE_IN>();
  CTYPE_OUT result{};
  internal::ReducedDims(in, dim_list)
      .for_each(
          [&](size_t position, size_t index) {
            const CTYPE_OUT next = map_fun(data[position]);
            result = index == 0 ? next : static_cast<CTYPE_OUT>(reduce_fun(next, result));
          },
          out_ix, 0, -1);
  return result;
}

/// map_reduce_over_dim() without a function of single elements.
template <typename CTYPE, typename ReduceOp>
std::tuple<CTYPE, long> reduce_over_dim(const ReduceOp& reduce_fun, const ::executorch::aten::Tensor& in,
                                        const OptionalDim& dim, const size_t out_ix) {
  return map_reduce_over_dim<CTYPE, CTYPE>([](CTYPE value) { return value; }, reduce_fun, in, dim, out_ix);
}

/// map_reduce_over_dim_list() without a function of single elements.
template <typename CTYPE, typename ReduceOp>
CTYPE reduce_over_dim_list(const ReduceOp& reduce_fun, const ::executorch::aten::Tensor& in,
                           const OptionalDimList& dim_list, const size_t out_ix) {
  return map_reduce_over_dim_list<CTYPE, CTYPE>([](CTYPE value) { return value; }, reduce_fun, in, dim_list, out_ix);
}

/// Writes the sizes of the result to an array for the rank of `in`. Returns their number.
inline size_t compute_reduced_out_size(const ::executorch::aten::Tensor& in, const OptionalDim& dim, bool keepdim,
                                       ::executorch::aten::SizesType* sizes_arr) {
  return internal::ReducedDims(in, dim).sizes(keepdim, sizes_arr);
}
inline size_t compute_reduced_out_size(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list,
                                       bool keepdim, ::executorch::aten::SizesType* sizes_arr) {
  return internal::ReducedDims(in, dim_list).sizes(keepdim, sizes_arr);
}
inline size_t compute_reduced_out_size(const ::executorch::aten::Tensor& in, int64_t dim, bool keepdim,
                                       ::executorch::aten::SizesType* sizes_arr) {
  return compute_reduced_out_size(in, OptionalDim(dim), keepdim, sizes_arr);
}

/// The number of dimensions of the result.
template <typename Dims>
ssize_t compute_reduced_out_dim(const ::executorch::aten::Tensor& in, const Dims& dims, bool keepdim) {
  ::executorch::aten::SizesType sizes[::executorch::runtime::kTensorDimensionLimit];
  return static_cast<ssize_t>(compute_reduced_out_size(in, dims, keepdim, sizes));
}

/// Resizes `out` to the shape of the result.
ET_NODISCARD inline ::executorch::runtime::Error resize_reduction_out(const ::executorch::aten::Tensor& in,
                                                                      const OptionalDimList& dim_list, bool keepdim,
                                                                      ::executorch::aten::Tensor& out) {
  if (!check_dim_list_is_valid(in, dim_list)) {
    return ::executorch::runtime::Error::InvalidArgument;
  }
  ::executorch::aten::SizesType sizes[::executorch::runtime::kTensorDimensionLimit];
  const size_t count = compute_reduced_out_size(in, dim_list, keepdim, sizes);
  return ::executorch::runtime::resize_tensor(
      out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, count));
}
ET_NODISCARD inline ::executorch::runtime::Error resize_reduction_out(const ::executorch::aten::Tensor& in,
                                                                      const OptionalDim& dim, bool keepdim,
                                                                      ::executorch::aten::Tensor& out) {
  return resize_reduction_out(in, dim ? OptionalDimList({&*dim, 1}) : OptionalDimList(), keepdim, out);
}
ET_NODISCARD inline ::executorch::runtime::Error resize_reduction_out(const ::executorch::aten::Tensor& in, int64_t dim,
                                                                      bool keepdim, ::executorch::aten::Tensor& out) {
  return resize_reduction_out(in, OptionalDim(dim), keepdim, out);
}

/// Whether the dimensions are valid, and `out` has the dtype if one is given. Logs if not.
inline bool check_reduction_args(const ::executorch::aten::Tensor& in, const OptionalDimList& dim_list,
                                 bool /*keepdim*/, std::optional<::executorch::aten::ScalarType> dtype,
                                 ::executorch::aten::Tensor& out) {
  return (!dtype || ::executorch::runtime::tensor_is_type(out, *dtype)) && check_dim_list_is_valid(in, dim_list);
}

/// Like the function above, for one dimension, which must have elements unless `allow_empty_dim`.
inline bool check_reduction_args_single_dim(const ::executorch::aten::Tensor& in, OptionalDim dim, bool keepdim,
                                            std::optional<::executorch::aten::ScalarType> dtype,
                                            ::executorch::aten::Tensor& out, bool allow_empty_dim = false) {
  if (!check_reduction_args(in, dim ? OptionalDimList({&*dim, 1}) : OptionalDimList(), keepdim, dtype, out)) {
    return false;
  }
  return !dim || in.dim() == 0 || allow_empty_dim || ::executorch::runtime::tensor_has_non_empty_dim(in, *dim);
}

}  // namespace executor
}  // namespace torch
