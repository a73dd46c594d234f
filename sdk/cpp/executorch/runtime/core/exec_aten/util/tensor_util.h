// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Predicates, index arithmetic, scalar extraction and resizing of tensors for kernels. A predicate that is false logs
 * what it expected and what it found, so that ET_KERNEL_CHECK(ctx, predicate(...), InvalidArgument, out) is a whole
 * check.
 */
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_check_macros.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>

// Kernels find c10::irange() here.
#if __has_include(<c10/util/irange.h>)
#include <c10/util/irange.h>
#else
#include <executorch/runtime/core/portable_type/c10/c10/util/irange.h>
#endif

namespace executorch {
namespace runtime {

// --- Dimensions ---------------------------------------------------------------------------------------------------

/// -upper_bound <= dim < upper_bound; dimension 0 and -1 of a scalar are valid.
bool dim_is_valid(int64_t dim, int64_t upper_bound);

/// tensor.dim(), or 1 for a scalar, which behaves like a one-element vector in reductions.
inline ssize_t nonzero_dim(const aten::Tensor& tensor) {
  return tensor.dim() == 0 ? 1 : tensor.dim();
}

/// tensor.size(dim), or 1 for a scalar.
inline ssize_t nonempty_size(const aten::Tensor& tensor, ssize_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}

// --- Predicates on dtypes -----------------------------------------------------------------------------------------

/// PyTorch's canCast from the tensor's dtype.
bool tensor_can_cast_to(aten::Tensor a, aten::ScalarType dtype);
bool tensor_is_bool_type(aten::Tensor t);
bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype);
bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype, aten::ScalarType dtype2);
bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype, aten::ScalarType dtype2, aten::ScalarType dtype3);
bool tensor_is_integral_type(aten::Tensor t, bool includeBool = false);
bool tensor_is_floating_type(aten::Tensor t);
bool tensor_is_real_type(aten::Tensor t);
bool tensor_is_realh_type(aten::Tensor t);
bool tensor_is_realhbf16_type(aten::Tensor t);
bool tensor_is_realhb_type(aten::Tensor t);
bool tensor_is_realhbbf16_type(aten::Tensor t);
bool tensor_is_complex_type(aten::Tensor t);
bool tensor_is_bits_type(aten::Tensor t);
bool tensors_have_same_dtype(aten::Tensor a, aten::Tensor b);
bool tensors_have_same_dtype(aten::Tensor a, aten::Tensor b, aten::Tensor c);

// --- Predicates on shapes -----------------------------------------------------------------------------------------

bool tensor_is_rank(aten::Tensor t, size_t rank);
bool tensor_has_rank_greater_or_equal_to(aten::Tensor t, size_t rank);
bool tensor_has_rank_smaller_or_equal_to(aten::Tensor t, size_t rank);
bool tensors_have_same_rank(aten::Tensor a, aten::Tensor b);

/// `d` may be negative; a scalar has dimensions 0 and -1.
bool tensor_has_dim(aten::Tensor t, int64_t d);
/// The dimension exists and its size is not 0.
bool tensor_has_non_empty_dim(aten::Tensor t, int64_t d);
/// `ix` (may be negative) is an index into dimension `d`.
bool tensor_dim_has_index(aten::Tensor t, int64_t d, int64_t ix);
bool tensors_have_same_size_at_dims(aten::Tensor a, size_t dim_a, aten::Tensor b, size_t dim_b);
/// Scalars and tensors of one element have the same shape, even if their ranks differ.
bool tensors_have_same_shape(aten::Tensor a, aten::Tensor b);
bool tensors_have_same_shape(aten::Tensor a, aten::Tensor b, aten::Tensor c);
bool tensors_have_same_shape_and_dtype(aten::Tensor a, aten::Tensor b);
bool tensors_have_same_shape_and_dtype(aten::Tensor a, aten::Tensor b, aten::Tensor c);
bool tensor_has_expected_size(aten::Tensor a, aten::ArrayRef<aten::SizesType> expected_sizes);
/// One element in a tensor of rank 0 or 1.
bool tensor_is_scalar(aten::Tensor t);

// --- Predicates on memory -----------------------------------------------------------------------------------------

bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b);
bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b, aten::Tensor c);
/// Dense and in the order of the dimensions.
bool tensor_is_contiguous(aten::Tensor t);

/**
 * Copies the dim order.
 *
 * @retval Error::InvalidArgument `out_dim_order_size` is not tensor.dim(), or the tensor has no dim order.
 */
ET_NODISCARD Error get_dim_order(const aten::Tensor& tensor, aten::DimOrderType* out_dim_order,
                                 size_t out_dim_order_size);
/// The dim order is a permutation of the dimensions.
bool tensor_has_valid_dim_order(aten::Tensor t);
bool tensor_is_default_or_channels_last_dim_order(aten::Tensor t);
bool tensor_is_default_dim_order(aten::Tensor t);
bool tensor_is_channels_last_dim_order(aten::Tensor t);
/// All equal, all contiguous (ranks may differ) or all channels-last. An empty list is fine.
bool tensors_have_same_dim_order(const aten::ArrayRef<aten::Tensor> tensor_list);
bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b);
bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b, const aten::Tensor& c);
bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b, const aten::Tensor& c,
                                 const aten::Tensor& d);

// --- Resizing -----------------------------------------------------------------------------------------------------

/// Changes the sizes within the tensor's bounds; see TensorImpl::internal_resize_contiguous() for the errors.
ET_NODISCARD inline Error resize_tensor(aten::Tensor t, aten::ArrayRef<aten::SizesType> new_sizes) {
  return internal::resize(t, new_sizes);
}

/// resize_tensor() for sizes of another integer type; a size that does not fit is Error::InvalidArgument.
template <typename T, typename std::enable_if<!std::is_same<aten::SizesType, T>::value, int>::type = 0>
ET_NODISCARD inline Error resize_tensor(aten::Tensor t, aten::ArrayRef<T> new_sizes) {
  aten::SizesType sizes[kTensorDimensionLimit];
  ET_CHECK_OR_RETURN_ERROR(new_sizes.size() <= kTensorDimensionLimit, InvalidArgument,
                           "expected at most %" ET_PRIsize_t " dimensions, found %" ET_PRIsize_t, kTensorDimensionLimit,
                           new_sizes.size());
  for (size_t i = 0; i < new_sizes.size(); ++i) {
    sizes[i] = static_cast<aten::SizesType>(new_sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0 && static_cast<T>(sizes[i]) == new_sizes[i], InvalidArgument,
                             "dimension %" ET_PRIsize_t " has a size outside of 0 to 2^31-1", i);
  }
  return resize_tensor(t, aten::ArrayRef<aten::SizesType>(sizes, new_sizes.size()));
}

/// For code that manages the memory of tensors. These functions change the tensor, not other references to its memory.
namespace internal {

/// Makes `t_dst` use the memory of `t_src`, which must outlive it. InvalidArgument if their sizes in bytes differ or
/// `t_src` has no data.
ET_NODISCARD Error share_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src);

/// Copies the bytes of `t_src` to `t_dst`; nothing if `t_src` has no data. InvalidArgument when `t_dst` has no memory
/// or they differ in bytes.
ET_NODISCARD Error copy_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src);

/// Makes `t` use `buffer` of `buffer_size` bytes, not owned. InvalidArgument if the tensor needs more.
ET_NODISCARD Error set_tensor_data(const aten::Tensor& t, void* buffer, size_t buffer_size);

/// Detaches the tensor from its memory, which is not freed.
void reset_data_ptr(const aten::Tensor& tensor);

/// resize_tensor() of a TensorImpl.
ET_NODISCARD Error resize_tensor_impl(aten::TensorImpl* impl, aten::ArrayRef<aten::SizesType> new_sizes);

}  // namespace internal

/// resize_tensor() that aborts on failure.
ET_DEPRECATED inline void resize(aten::Tensor t, aten::ArrayRef<aten::SizesType> new_sizes) {
  const Error error = resize_tensor(t, new_sizes);
  ET_CHECK_MSG(error == Error::Ok, "the tensor cannot be resized: %s", error_name(error));
}

}  // namespace runtime
}  // namespace executorch

#include <executorch/runtime/core/exec_aten/util/tensor_index.h>

namespace torch {
namespace executor {
using ::executorch::runtime::dim_is_valid;
using ::executorch::runtime::get_dim_order;
using ::executorch::runtime::nonempty_size;
using ::executorch::runtime::nonzero_dim;
using ::executorch::runtime::resize;
using ::executorch::runtime::resize_tensor;
using ::executorch::runtime::tensor_can_cast_to;
using ::executorch::runtime::tensor_dim_has_index;
using ::executorch::runtime::tensor_has_dim;
using ::executorch::runtime::tensor_has_expected_size;
using ::executorch::runtime::tensor_has_non_empty_dim;
using ::executorch::runtime::tensor_has_rank_greater_or_equal_to;
using ::executorch::runtime::tensor_has_rank_smaller_or_equal_to;
using ::executorch::runtime::tensor_has_valid_dim_order;
using ::executorch::runtime::tensor_is_bits_type;
using ::executorch::runtime::tensor_is_bool_type;
using ::executorch::runtime::tensor_is_channels_last_dim_order;
using ::executorch::runtime::tensor_is_complex_type;
using ::executorch::runtime::tensor_is_contiguous;
using ::executorch::runtime::tensor_is_default_dim_order;
using ::executorch::runtime::tensor_is_default_or_channels_last_dim_order;
using ::executorch::runtime::tensor_is_floating_type;
using ::executorch::runtime::tensor_is_integral_type;
using ::executorch::runtime::tensor_is_rank;
using ::executorch::runtime::tensor_is_real_type;
using ::executorch::runtime::tensor_is_realh_type;
using ::executorch::runtime::tensor_is_realhb_type;
using ::executorch::runtime::tensor_is_realhbbf16_type;
using ::executorch::runtime::tensor_is_realhbf16_type;
using ::executorch::runtime::tensor_is_scalar;
using ::executorch::runtime::tensor_is_type;
using ::executorch::runtime::tensors_have_same_dim_order;
using ::executorch::runtime::tensors_have_same_dtype;
using ::executorch::runtime::tensors_have_same_rank;
using ::executorch::runtime::tensors_have_same_shape;
using ::executorch::runtime::tensors_have_same_shape_and_dtype;
using ::executorch::runtime::tensors_have_same_size_at_dims;
using ::executorch::runtime::tensors_have_same_strides;
}  // namespace executor
}  // namespace torch
