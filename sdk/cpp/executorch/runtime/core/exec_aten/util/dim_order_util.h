// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Conversions between dim order and strides. dim_order[i] is the logical dimension that is stored i-th from the
 * outside: a contiguous tensor has 0, 1, ..., n-1 and a channels-last image 0, 2, 3, 1.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch {
namespace runtime {
namespace internal {

/// True when `dim_order` holds each of 0..dims-1 once. `dims` is at most kTensorDimensionLimit.
template <typename DimOrderType>
bool is_permutation(const DimOrderType* dim_order, const size_t dims) {
  static_assert(kTensorDimensionLimit <= 32, "`seen` has a bit for each dimension");
  uint32_t seen = 0;
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = static_cast<size_t>(dim_order[i]);
    if (d >= dims || (seen & (1u << d)) != 0) {
      return false;
    }
    seen |= 1u << d;
  }
  return true;
}

}  // namespace internal

/// True for 0, 1, ..., dims-1.
template <typename DimOrderType>
inline bool is_contiguous_dim_order(const DimOrderType* dim_order, const size_t dims) {
  for (size_t i = 0; i < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) != i) {
      return false;
    }
  }
  return true;
}

/// True for batch, spatial dimensions in order, channels: 0, 2, 3, 1 (rank 4) or 0, 2, 3, 4, 1 (rank 5).
template <typename DimOrderType>
bool is_channels_last_dim_order(const DimOrderType* dim_order, const size_t dims) {
  if ((dims != 4 && dims != 5) || dim_order[0] != 0 || dim_order[dims - 1] != 1) {
    return false;
  }
  for (size_t i = 1; i + 1 < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) != i + 1) {
      return false;
    }
  }
  return true;
}

/**
 * Strides of a dense tensor. A size of 0 counts as 1, as in PyTorch.
 *
 * @pre dim_order is a permutation and the strides fit their type; dim_order_to_stride() checks that.
 */
template <typename SizesType, typename DimOrderType, typename StridesType>
inline void dim_order_to_stride_nocheck(const SizesType* sizes, const DimOrderType* dim_order, const size_t dims,
                                        StridesType* strides) {
  StridesType stride = 1;
  for (size_t i = dims; i > 0; --i) {
    const size_t d = static_cast<size_t>(dim_order[i - 1]);
    strides[d] = stride;
    // No stride contains the outermost size, and multiplying by it could overflow.
    if (i > 1 && sizes[d] != 0) {
      stride = static_cast<StridesType>(stride * sizes[d]);
    }
  }
}

/**
 * Checked dim_order_to_stride_nocheck(); writes nothing on failure.
 *
 * @retval Error::InvalidArgument dim_order is not a permutation of 0..dims-1, dims is above kTensorDimensionLimit, a
 * size is negative or a stride does not fit StridesType.
 */
template <typename SizesType, typename DimOrderType, typename StridesType>
ET_NODISCARD inline Error dim_order_to_stride(const SizesType* sizes, const DimOrderType* dim_order, const size_t dims,
                                              StridesType* strides) {
  if (dims == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(dims <= kTensorDimensionLimit, InvalidArgument,
                           "expected a rank of at most %" ET_PRIsize_t ", found %" ET_PRIsize_t, kTensorDimensionLimit,
                           dims);
  ET_CHECK_OR_RETURN_ERROR(internal::is_permutation(dim_order, dims), InvalidArgument,
                           "expected a dim order that holds each of 0 to %" ET_PRIsize_t " once", dims - 1);
  int64_t stride = 1;
  for (size_t i = dims; i > 0; --i) {
    const int64_t size = static_cast<int64_t>(sizes[static_cast<size_t>(dim_order[i - 1])]);
    ET_CHECK_OR_RETURN_ERROR(size >= 0, InvalidArgument, "expected sizes of 0 or more, found %" PRId64, size);
    if (i > 1 && size != 0) {
      constexpr auto kLimit = std::numeric_limits<StridesType>::max();
      ET_CHECK_OR_RETURN_ERROR(size <= kLimit && stride <= kLimit / static_cast<StridesType>(size), InvalidArgument,
                               "a stride does not fit %" ET_PRIsize_t " bytes: %" PRId64 " * %" PRId64,
                               sizeof(StridesType), stride, size);
      stride *= size;
    }
  }
  dim_order_to_stride_nocheck(sizes, dim_order, dims, strides);
  return Error::Ok;
}

/**
 * Dimensions by descending stride; equal strides keep their logical order.
 *
 * @retval Error::InvalidArgument a stride is 0 or negative (expanded or flipped views have no dim order), or dims is
 * above kTensorDimensionLimit.
 */
template <typename DimOrderType, typename StridesType>
ET_NODISCARD inline Error stride_to_dim_order(const StridesType* strides, const size_t dims, DimOrderType* dim_order) {
  ET_CHECK_OR_RETURN_ERROR(dims <= kTensorDimensionLimit, InvalidArgument,
                           "expected a rank of at most %" ET_PRIsize_t ", found %" ET_PRIsize_t, kTensorDimensionLimit,
                           dims);
  for (size_t i = 0; i < dims; ++i) {
    ET_CHECK_OR_RETURN_ERROR(strides[i] > 0, InvalidArgument,
                             "expected strides above 0, found %" PRId64 " in dimension %" ET_PRIsize_t,
                             static_cast<int64_t>(strides[i]), i);
    size_t place = i;
    for (; place > 0 && strides[static_cast<size_t>(dim_order[place - 1])] < strides[i]; --place) {
      dim_order[place] = dim_order[place - 1];
    }
    dim_order[place] = static_cast<DimOrderType>(i);
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::dim_order_to_stride;
using ::executorch::runtime::dim_order_to_stride_nocheck;
using ::executorch::runtime::is_channels_last_dim_order;
using ::executorch::runtime::is_contiguous_dim_order;
using ::executorch::runtime::stride_to_dim_order;
}  // namespace executor
}  // namespace torch
