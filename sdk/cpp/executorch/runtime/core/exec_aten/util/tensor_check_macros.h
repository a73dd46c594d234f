// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Check macros of kernels. ET_KERNEL_CHECK reports to the context; the ET_CHECK_SAME_* family aborts and is for code
 * that has no context. Included by tensor_util.h.
 */
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>

/// Start of the messages of ET_CHECK_SAME_*.
#define ET_TENSOR_CHECK_PREFIX__ "Tensors do not match"

#define ET_MIN2(a, b) ((a) < (b) ? (a) : (b))
#define ET_MIN3(a, b, c) ET_MIN2(a, ET_MIN2(b, c))

/// Index IX counted from the start: negative indices count from UPPER_BOUND, as in Python.
#define ET_NORMALIZE_IX(IX, UPPER_BOUND) ((IX) < 0 ? (IX) + (UPPER_BOUND) : (IX))

/// Aborts unless -UPPER_BOUND <= IX < UPPER_BOUND.
#define ET_CHECK_VALID_IX(IX, UPPER_BOUND)                                                               \
  ET_CHECK_MSG((IX) >= -static_cast<int64_t>(UPPER_BOUND) && (IX) < static_cast<int64_t>(UPPER_BOUND),   \
               "index %" PRId64 " must be within [-%" PRId64 ", %" PRId64 ")", static_cast<int64_t>(IX), \
               static_cast<int64_t>(UPPER_BOUND), static_cast<int64_t>(UPPER_BOUND))

/// Aborts unless -UPPER_BOUND <= DIM < UPPER_BOUND.
#define ET_CHECK_VALID_DIM(DIM, UPPER_BOUND)                                                             \
  ET_CHECK_MSG((DIM) >= -static_cast<int64_t>(UPPER_BOUND) && (DIM) < static_cast<int64_t>(UPPER_BOUND), \
               "dim %" PRId64 " must be within [-%" PRId64 ", %" PRId64 ")", static_cast<int64_t>(DIM),  \
               static_cast<int64_t>(UPPER_BOUND), static_cast<int64_t>(UPPER_BOUND))

/// Aborts when dimension DIM (0 <= DIM) of tensor T has size 0.
#define ET_CHECK_NON_ZERO_DIM_SIZE(DIM, T)                                                             \
  ET_CHECK_MSG((T).size(DIM) > 0, "expected dim %" PRId64 " of a size above 0, found %" ET_PRIssize_t, \
               static_cast<int64_t>(DIM), (T).size(DIM))

#define ET_INTERNAL_CHECK_TENSORS(predicate, what) \
  ET_CHECK_MSG(predicate, ET_TENSOR_CHECK_PREFIX__ ": expected the same " what "; the line above says what was found")

#define ET_CHECK_SAME_SHAPE2(a__, b__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_shape(a__, b__), "shape")
#define ET_CHECK_SAME_SHAPE3(a__, b__, c__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_shape(a__, b__, c__), "shape")
#define ET_CHECK_SAME_DTYPE2(a__, b__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_dtype(a__, b__), "dtype")
#define ET_CHECK_SAME_DTYPE3(a__, b__, c__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_dtype(a__, b__, c__), "dtype")
#define ET_CHECK_SAME_SHAPE_AND_DTYPE2(a__, b__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_shape_and_dtype(a__, b__), "shape, dtype")
#define ET_CHECK_SAME_SHAPE_AND_DTYPE3(a__, b__, c__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_shape_and_dtype(a__, b__, c__), "shape, dtype")
#define ET_CHECK_SAME_STRIDES2(a__, b__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_strides(a__, b__), "strides")
#define ET_CHECK_SAME_STRIDES3(a__, b__, c__) \
  ET_INTERNAL_CHECK_TENSORS(::executorch::runtime::tensors_have_same_strides(a__, b__, c__), "strides")

/// Aborts unless the tensor's memory is dense and in the order of its dimensions.
#define ET_CHECK_CONTIGUOUS(a__) \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_contiguous(a__), "expected a contiguous tensor")

/// Aborts unless the dim order is contiguous or channels-last.
#define ET_CHECK_DEFAULT_OR_CHANNELSLAST_DIMORDER(t__)                                   \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_default_or_channels_last_dim_order(t__), \
               "expected a contiguous or channels-last dim order; the line above says what was found")

/// In a predicate: logs and returns false when the condition is false.
#define ET_LOG_AND_RETURN_IF_FALSE(cond)        \
  do {                                          \
    if (ET_UNLIKELY(!(cond))) {                 \
      ET_LOG(Error, "Check failed: %s", #cond); \
      return false;                             \
    }                                           \
  } while (0)

/// In a predicate: logs the message and returns false when the condition is false.
#define ET_LOG_MSG_AND_RETURN_IF_FALSE(cond, message, ...) ET_CHECK_OR_RETURN_FALSE(cond, message, ##__VA_ARGS__)

/// In a kernel: when the condition is false, logs it, sets context.fail(Error::error) and returns retval (may be
/// empty).
#define ET_KERNEL_CHECK(context, cond, error, retval)      \
  do {                                                     \
    if (ET_UNLIKELY(!(cond))) {                            \
      ET_LOG(Error, "Check failed: %s", #cond);            \
      (context).fail(::executorch::runtime::Error::error); \
      return retval;                                       \
    }                                                      \
  } while (false)

/// ET_KERNEL_CHECK with a formatted message.
#define ET_KERNEL_CHECK_MSG(context, cond, error, retval, message, ...)   \
  do {                                                                    \
    if (ET_UNLIKELY(!(cond))) {                                           \
      ET_LOG(Error, "Check failed (%s): " message, #cond, ##__VA_ARGS__); \
      (context).fail(::executorch::runtime::Error::error);                \
      return retval;                                                      \
    }                                                                     \
  } while (false)

/// Reads a one-element tensor into `out_val`; aborts when its value does not fit.
#define ET_EXTRACT_SCALAR_TENSOR(scalar_tensor, out_val)                              \
  ET_CHECK_MSG(::executorch::runtime::extract_scalar_tensor(scalar_tensor, &out_val), \
               #scalar_tensor " could not be extracted: wrong type, more than one element or out of range")
