// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Index arithmetic on contiguous tensors and extraction of one-element tensors. Included by tensor_util.h.
 */
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace executorch {
namespace runtime {

/// Product of the sizes before `dim` (0 <= dim <= dim()); dim() gives the number of elements.
inline size_t getLeadingDims(const aten::Tensor& tensor, int64_t dim) {
  ET_CHECK_MSG(dim >= 0 && dim <= tensor.dim(), "expected 0 <= dim <= %" ET_PRIssize_t ", found %" PRId64, tensor.dim(),
               dim);
  size_t dims = 1;
  for (int64_t i = 0; i < dim; ++i) {
    dims *= static_cast<size_t>(tensor.size(i));
  }
  return dims;
}

/// Product of the sizes after `dim` (-1 <= dim < dim()); -1 gives the number of elements.
inline size_t getTrailingDims(const aten::Tensor& tensor, int64_t dim) {
  ET_CHECK_MSG(dim >= -1 && dim < nonzero_dim(tensor), "expected -1 <= dim < %" ET_PRIssize_t ", found %" PRId64,
               nonzero_dim(tensor), dim);
  size_t dims = 1;
  for (int64_t i = dim + 1; i < tensor.dim(); ++i) {
    dims *= static_cast<size_t>(tensor.size(i));
  }
  return dims;
}

/// Position of a coordinate in a contiguous tensor. `coordinate` holds tensor.dim() values; not checked.
inline size_t coordinateToIndex(const aten::Tensor& tensor, const size_t* const coordinate) {
  size_t index = 0;
  for (ssize_t d = 0; d < tensor.dim(); ++d) {
    index = index * static_cast<size_t>(tensor.size(d)) + coordinate[d];
  }
  return index;
}

/// Stores getTrailingDims() of every dimension, for coordinateToIndexWithTrailingDimsMemo().
inline void memoizeTrailingDims(const aten::Tensor& tensor, size_t trailing_dims_memo[kTensorDimensionLimit]) {
  size_t dims = 1;
  for (ssize_t d = tensor.dim() - 1; d >= 0; --d) {
    trailing_dims_memo[d] = dims;
    dims *= static_cast<size_t>(tensor.size(d));
  }
}

/// coordinateToIndex() with the products already known.
inline size_t coordinateToIndexWithTrailingDimsMemo(const aten::Tensor& tensor, const size_t* const coordinate,
                                                    const size_t trailing_dims_memo[kTensorDimensionLimit]) {
  size_t index = 0;
  for (ssize_t d = 0; d < tensor.dim(); ++d) {
    index += coordinate[d] * trailing_dims_memo[d];
  }
  return index;
}

/// Coordinate of a position in a contiguous tensor; writes tensor.dim() values.
inline void indexToCoordinate(const aten::Tensor& tensor, size_t index, size_t* coordinate) {
  ET_CHECK_MSG(index < static_cast<size_t>(tensor.numel()), "index %" ET_PRIsize_t " of %" ET_PRIssize_t " elements",
               index, tensor.numel());
  for (ssize_t d = tensor.dim() - 1; d >= 0; --d) {
    const size_t size = static_cast<size_t>(tensor.size(d));
    coordinate[d] = index % size;
    index /= size;
  }
}

/// Position of a coordinate for any strides. Both arrays hold `ndim` values.
inline size_t calculate_linear_index(const aten::SizesType* coordinate, const aten::StridesType* strides,
                                     const size_t ndim) {
  size_t index = 0;
  for (size_t i = 0; i < ndim; ++i) {
    index += static_cast<size_t>(coordinate[i]) * static_cast<size_t>(strides[i]);
  }
  return index;
}

namespace internal {

/// True when `value` is in the range of OUT; it may be rounded. Infinity and NaN fit every floating point type.
template <typename OUT, typename IN>
bool value_fits(IN value) {
  if constexpr (std::is_integral_v<OUT> && std::is_integral_v<IN>) {
    return static_cast<IN>(static_cast<OUT>(value)) == value && (static_cast<OUT>(value) < OUT(0)) == (value < IN(0));
  } else {
    const double v = static_cast<double>(value);
    return !std::isfinite(v) || std::fabs(v) <= static_cast<double>(std::numeric_limits<OUT>::max());
  }
}

}  // namespace internal

/**
 * Reads a one-element integer tensor into an integer.
 *
 * @return false, with `out_val` unchanged, for another number of elements, another dtype or a value that does not fit.
 */
template <typename INT_T, typename std::enable_if<std::is_integral<INT_T>::value && !std::is_same<INT_T, bool>::value,
                                                  bool>::type = true>
bool extract_scalar_tensor(aten::Tensor tensor, INT_T* out_val) {
  if (tensor.numel() != 1) {
    return false;
  }
#define CASE_INT_DTYPE(TENSOR_CTYPE, TENSOR_DTYPE)                     \
  case aten::ScalarType::TENSOR_DTYPE: {                               \
    const TENSOR_CTYPE value = *tensor.const_data_ptr<TENSOR_CTYPE>(); \
    if (!internal::value_fits<INT_T>(value)) {                         \
      return false;                                                    \
    }                                                                  \
    *out_val = static_cast<INT_T>(value);                              \
    return true;                                                       \
  }
  switch (tensor.scalar_type()) {
    ET_FORALL_INT_TYPES(CASE_INT_DTYPE)
    default:
      return false;
  }
#undef CASE_INT_DTYPE
}

/// Same for floating point: reads integers, Half, BFloat16, Float and Double.
template <typename FLOAT_T,
          typename std::enable_if<std::is_floating_point_v<FLOAT_T> || std::is_same_v<FLOAT_T, aten::BFloat16> ||
                                      std::is_same_v<FLOAT_T, aten::Half>,
                                  bool>::type = true>
bool extract_scalar_tensor(aten::Tensor tensor, FLOAT_T* out_val) {
  if (tensor.numel() != 1) {
    return false;
  }
#define CASE_REAL_DTYPE(TENSOR_CTYPE, TENSOR_DTYPE)                    \
  case aten::ScalarType::TENSOR_DTYPE: {                               \
    const TENSOR_CTYPE value = *tensor.const_data_ptr<TENSOR_CTYPE>(); \
    if (!internal::value_fits<FLOAT_T>(value)) {                       \
      return false;                                                    \
    }                                                                  \
    *out_val = static_cast<FLOAT_T>(value);                            \
    return true;                                                       \
  }
  switch (tensor.scalar_type()) {
    ET_FORALL_REALHBF16_TYPES(CASE_REAL_DTYPE)
    default:
      return false;
  }
#undef CASE_REAL_DTYPE
}

/// Same for a Bool tensor.
template <typename BOOL_T, typename std::enable_if<std::is_same<BOOL_T, bool>::value, bool>::type = true>
bool extract_scalar_tensor(aten::Tensor tensor, BOOL_T* out_val) {
  if (tensor.scalar_type() != aten::ScalarType::Bool || tensor.numel() != 1) {
    return false;
  }
  *out_val = *tensor.const_data_ptr<bool>();
  return true;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::calculate_linear_index;
using ::executorch::runtime::coordinateToIndex;
using ::executorch::runtime::coordinateToIndexWithTrailingDimsMemo;
using ::executorch::runtime::extract_scalar_tensor;
using ::executorch::runtime::getLeadingDims;
using ::executorch::runtime::getTrailingDims;
using ::executorch::runtime::indexToCoordinate;
using ::executorch::runtime::memoizeTrailingDims;
}  // namespace executor
}  // namespace torch
