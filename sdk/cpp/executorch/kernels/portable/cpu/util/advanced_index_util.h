// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Indexing with tensors, as `x[i, :, mask]`, for custom kernels. The list has an entry for each dimension, which is
 * empty where all elements are taken; a mask, of dtype Bool or Byte, indexes as many dimensions as it has. Indices are
 * broadcast to one shape, in which a mask is the vector of its true elements. A check logs what it expected and returns
 * false.
 */
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include <executorch/kernels/portable/cpu/util/broadcast_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

using TensorOptList = ::executorch::aten::ArrayRef<std::optional<Tensor>>;

namespace internal {

inline bool is_mask(const Tensor& index) {
  return index.scalar_type() == ScalarType::Bool || index.scalar_type() == ScalarType::Byte;
}

/// The number of dimensions of the input that an entry of the list indexes.
inline size_t indexed_dims(const std::optional<Tensor>& index) {
  return index && is_mask(*index) ? static_cast<size_t>(index->dim()) : 1;
}

/// The position of true element `number` of a mask, or the number of elements if it has fewer.
inline size_t true_element(const Tensor& mask, size_t number) {
  // Bool and Byte are bytes, which are true unless they are 0.
  const auto* const data = static_cast<const uint8_t*>(mask.const_data_ptr());
  const auto count = static_cast<size_t>(mask.numel());
  size_t i = 0;
  while (i < count && (data[i] == 0 || number-- > 0)) {
    ++i;
  }
  return i;
}

}  // namespace internal

/// How many elements of a mask are true.
inline size_t count_trues_in_mask_index(const Tensor& index) {
  const auto* const data = static_cast<const uint8_t*>(index.const_data_ptr());
  return static_cast<size_t>(std::count_if(data, data + index.numel(), [](uint8_t each) { return each != 0; }));
}

/// Dtypes, ranks and the shapes of masks; not the values of indices.
ET_NODISCARD inline bool check_index_args(const Tensor& in, TensorOptList indices, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  size_t dim = 0;
  for (const auto& index : indices) {
    const size_t count = internal::indexed_dims(index);
    ET_CHECK_OR_RETURN_FALSE(dim + count <= static_cast<size_t>(in.dim()),
                             "index: there are more indices than the %zd dimensions", static_cast<ssize_t>(in.dim()));
    if (index && internal::is_mask(*index)) {
      ET_CHECK_OR_RETURN_FALSE(count > 0, "index: a mask must have dimensions");
      for (size_t i = 0; i < count; ++i) {
        ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_size_at_dims(*index, i, in, dim + i));
      }
    } else if (index) {
      ET_CHECK_OR_RETURN_FALSE(index->scalar_type() == ScalarType::Long || index->scalar_type() == ScalarType::Int,
                               "index: expected the dtype Long, Int, Byte or Bool, found %s",
                               ::executorch::runtime::toString(index->scalar_type()));
    }
    dim += count;
  }
  return true;
}

/// The number of groups of adjacent indices in the list.
inline size_t count_index_blocks(TensorOptList indices) {
  size_t count = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    count += indices[i] && (i == 0 || !indices[i - 1]) ? 1 : 0;
  }
  return count;
}

/// Computes the shape to which the indices are broadcast. Returns false, and logs, if they cannot be broadcast.
ET_NODISCARD inline bool get_indices_broadcast_shape(TensorOptList indices, ::executorch::aten::SizesType* ix_sizes,
                                                     size_t* ix_ndim) {
  using ::executorch::aten::ArrayRef;
  using ::executorch::aten::SizesType;
  *ix_ndim = 0;
  for (const auto& index : indices) {
    if (!index) {
      continue;
    }
    SizesType length = 0;
    ArrayRef<SizesType> sizes = index->sizes();
    if (internal::is_mask(*index)) {
      length = static_cast<SizesType>(count_trues_in_mask_index(*index));
      sizes = ArrayRef<SizesType>(&length, 1);
    }
    SizesType both[kTensorDimensionLimit];
    if (get_broadcast_target_size(ArrayRef<SizesType>(ix_sizes, *ix_ndim), sizes, both, kTensorDimensionLimit,
                                  ix_ndim) != Error::Ok) {
      return false;
    }
    std::copy(both, both + *ix_ndim, ix_sizes);
  }
  return true;
}

/// The number of dimensions to which the indices are broadcast.
inline size_t get_indices_broadcast_ndim(TensorOptList indices) {
  size_t rank = 0;
  for (const auto& index : indices) {
    if (index) {
      rank = std::max(rank, internal::is_mask(*index) ? size_t{1} : static_cast<size_t>(index->dim()));
    }
  }
  return rank;
}

/// The number of dimensions of the input that have an index.
inline size_t get_num_indexed_dims(TensorOptList indices) {
  size_t count = 0;
  for (const auto& index : indices) {
    count += index ? internal::indexed_dims(index) : 0;
  }
  return count;
}

/// The number of entries of the list without an index.
inline size_t get_num_null_indices(TensorOptList indices) {
  return static_cast<size_t>(std::count_if(indices.begin(), indices.end(), [](const auto& index) { return !index; }));
}

/// The number of entries before the first index.
inline size_t get_num_leading_null_indices(TensorOptList indices) {
  return static_cast<size_t>(
      std::find_if(indices.begin(), indices.end(), [](const auto& index) { return index.has_value(); }) -
      indices.begin());
}

/// For each dimension of the input, the dimension of the result that it becomes; -1 if it has an index. The result has
/// the dimensions of the indices in place of the first index if the indices are `adjacent`, otherwise in front.
inline void compute_dim_map(const Tensor& in, TensorOptList indices, int32_t* dim_map, bool adjacent) {
  const auto broadcast = static_cast<int32_t>(get_indices_broadcast_ndim(indices));
  int32_t next = adjacent ? 0 : broadcast;
  int32_t dim = 0;
  bool is_counted = !adjacent;
  for (const auto& index : indices) {
    if (!index) {
      dim_map[dim++] = next++;
      continue;
    }
    next += is_counted ? 0 : broadcast;
    is_counted = true;
    const auto end = dim + static_cast<int32_t>(internal::indexed_dims(index));
    std::fill(dim_map + dim, dim_map + end, -1);
    dim = end;
  }
  for (; dim < in.dim(); ++dim) {
    dim_map[dim] = next++;
  }
}

/// For each dimension of the input, the number of its index in the list, or -1.
inline void compute_index_map(const Tensor& in, TensorOptList indices, int32_t* ix_map) {
  std::fill(ix_map, ix_map + in.dim(), -1);
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t count = internal::indexed_dims(indices[i]);
    if (indices[i]) {
      std::fill(ix_map, ix_map + count, static_cast<int32_t>(i));
    }
    ix_map += count;
  }
}

/// Returns false, and logs, if the indices cannot be broadcast or there are too many dimensions.
ET_NODISCARD inline bool get_index_out_target_size(const Tensor& in, TensorOptList indices, bool adjacent,
                                                   ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  ::executorch::aten::SizesType broadcast[kTensorDimensionLimit];
  size_t rank = 0;
  if (!get_indices_broadcast_shape(indices, broadcast, &rank)) {
    return false;
  }
  const size_t indexed = get_num_indexed_dims(indices), named = indexed + get_num_null_indices(indices);
  ET_CHECK_OR_RETURN_FALSE(named <= static_cast<size_t>(in.dim()), "index: %zu indices of %zd dimensions", named,
                           static_cast<ssize_t>(in.dim()));
  *out_ndim = static_cast<size_t>(in.dim()) - indexed + rank;
  ET_CHECK_OR_RETURN_FALSE(*out_ndim <= kTensorDimensionLimit, "index: a result of %zu dimensions", *out_ndim);
  int32_t dim_map[kTensorDimensionLimit];
  compute_dim_map(in, indices, dim_map, adjacent);
  const size_t start = adjacent ? get_num_leading_null_indices(indices) : 0;
  std::copy(broadcast, broadcast + rank, out_sizes + start);
  for (ssize_t d = 0; d < in.dim(); ++d) {
    if (dim_map[d] >= 0) {
      out_sizes[dim_map[d]] = in.size(d);
    }
  }
  return true;
}

/**
 * The element of the input that is copied to an element of the result.
 *
 * @param start The dimension of the result in which the `broadcast_ndim` dimensions of the indices begin.
 * @param dim_map,ix_map Results of compute_dim_map() and compute_index_map().
 * @return False, and logs, if an index is not within its dimension.
 */
ET_NODISCARD inline bool get_in_coord(const Tensor& in, TensorOptList indices, size_t start, size_t broadcast_ndim,
                                      int32_t* dim_map, int32_t* ix_map, size_t* out_coord, size_t* in_coord) {
  const ::executorch::aten::ArrayRef<size_t> place(out_coord + start, broadcast_ndim);
  for (ssize_t d = 0; d < in.dim(); ++d) {
    if (dim_map[d] >= 0) {
      in_coord[d] = out_coord[dim_map[d]];
      continue;
    }
    const Tensor& index = *indices[static_cast<size_t>(ix_map[d])];
    if (internal::is_mask(index)) {
      // A mask with one true element is broadcast.
      const size_t number = count_trues_in_mask_index(index) == 1 ? 0 : place[broadcast_ndim - 1];
      const size_t element = internal::true_element(index, number);
      ET_CHECK_OR_RETURN_FALSE(element < static_cast<size_t>(index.numel()),
                               "index: a mask has no true element number %zu", number);
      delinearize_index(element, index, in_coord + d, kTensorDimensionLimit - static_cast<size_t>(d));
      d += index.dim() - 1;
      continue;
    }
    const size_t at = linearize_access_indexes(place, static_cast<ssize_t>(broadcast_ndim), index);
    const int64_t value = index.scalar_type() == ScalarType::Int ? index.const_data_ptr<int32_t>()[at]
                                                                 : index.const_data_ptr<int64_t>()[at];
    const auto size = static_cast<int64_t>(in.size(d));
    ET_CHECK_OR_RETURN_FALSE(value >= -size && value < size,
                             "index: %" PRId64 " is not within the size %" PRId64 " of dimension %zd", value, size, d);
    in_coord[d] = static_cast<size_t>(value < 0 ? value + size : value);
  }
  return true;
}

/// Like the function above, for elements that are numbered in the order of the sizes. The second value is false for an
/// index out of range.
inline std::pair<size_t, bool> get_in_ix(const Tensor& in, TensorOptList indices, Tensor& out, size_t out_ix,
                                         size_t start, size_t broadcast_ndim, int32_t* dim_map, int32_t* ix_map) {
  size_t out_coord[kTensorDimensionLimit];
  size_t in_coord[kTensorDimensionLimit];
  delinearize_index(out_ix, out, out_coord, kTensorDimensionLimit);
  if (!get_in_coord(in, indices, start, broadcast_ndim, dim_map, ix_map, out_coord, in_coord)) {
    return {0, false};
  }
  return {coordinateToIndex(in, in_coord), true};
}

}  // namespace executor
}  // namespace torch
