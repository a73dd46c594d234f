// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include "signatures.h"

#if !defined(ET_MIN2) || !defined(ET_MIN3) || !defined(ET_NORMALIZE_IX) || !defined(ET_CHECK_VALID_IX) ||     \
    !defined(ET_CHECK_VALID_DIM) || !defined(ET_CHECK_NON_ZERO_DIM_SIZE) || !defined(ET_CHECK_SAME_SHAPE2) || \
    !defined(ET_CHECK_SAME_SHAPE3) || !defined(ET_CHECK_SAME_DTYPE2) || !defined(ET_CHECK_SAME_DTYPE3) ||     \
    !defined(ET_CHECK_SAME_SHAPE_AND_DTYPE2) || !defined(ET_CHECK_SAME_SHAPE_AND_DTYPE3) ||                   \
    !defined(ET_CHECK_CONTIGUOUS) || !defined(ET_CHECK_SAME_STRIDES2) || !defined(ET_CHECK_SAME_STRIDES3) ||  \
    !defined(ET_CHECK_DEFAULT_OR_CHANNELSLAST_DIMORDER) || !defined(ET_LOG_AND_RETURN_IF_FALSE) ||            \
    !defined(ET_LOG_MSG_AND_RETURN_IF_FALSE) || !defined(ET_KERNEL_CHECK) || !defined(ET_KERNEL_CHECK_MSG) || \
    !defined(ET_EXTRACT_SCALAR_TENSOR)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(is<bool (*)(int64_t, int64_t)>(&dim_is_valid));
static_assert(is<ssize_t (*)(const aten::Tensor&)>(&nonzero_dim));
static_assert(is<ssize_t (*)(const aten::Tensor&, ssize_t)>(&nonempty_size));
static_assert(is<bool (*)(aten::Tensor, aten::ScalarType)>(&tensor_can_cast_to));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_bool_type));
static_assert(is<bool (*)(aten::Tensor, aten::ScalarType)>(&tensor_is_type));
static_assert(is<bool (*)(aten::Tensor, aten::ScalarType, aten::ScalarType)>(&tensor_is_type));
static_assert(is<bool (*)(aten::Tensor, aten::ScalarType, aten::ScalarType, aten::ScalarType)>(&tensor_is_type));
static_assert(is<bool (*)(aten::Tensor, bool)>(&tensor_is_integral_type));
using tensor_is_integral_type_default = decltype(tensor_is_integral_type(make<aten::Tensor>()));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_floating_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_real_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_realh_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_realhbf16_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_realhb_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_realhbbf16_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_complex_type));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_bits_type));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor)>(&tensors_have_same_dtype));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor, aten::Tensor)>(&tensors_have_same_dtype));
static_assert(is<bool (*)(aten::Tensor, size_t)>(&tensor_is_rank));
static_assert(is<bool (*)(aten::Tensor, size_t)>(&tensor_has_rank_greater_or_equal_to));
static_assert(is<bool (*)(aten::Tensor, size_t)>(&tensor_has_rank_smaller_or_equal_to));
static_assert(is<bool (*)(aten::Tensor, int64_t)>(&tensor_has_dim));
static_assert(is<bool (*)(aten::Tensor, int64_t)>(&tensor_has_non_empty_dim));
static_assert(is<bool (*)(aten::Tensor, int64_t, int64_t)>(&tensor_dim_has_index));
static_assert(is<bool (*)(aten::Tensor, size_t, aten::Tensor, size_t)>(&tensors_have_same_size_at_dims));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor)>(&tensors_have_same_shape));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor, aten::Tensor)>(&tensors_have_same_shape));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor)>(&tensors_have_same_shape_and_dtype));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor, aten::Tensor)>(&tensors_have_same_shape_and_dtype));
static_assert(is<bool (*)(aten::Tensor, aten::ArrayRef<aten::SizesType>)>(&tensor_has_expected_size));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor)>(&tensors_have_same_strides));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor, aten::Tensor)>(&tensors_have_same_strides));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_contiguous));
static_assert(is<bool (*)(aten::Tensor, aten::Tensor)>(&tensors_have_same_rank));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_scalar));
static_assert(is<size_t (*)(const aten::Tensor&, int64_t)>(&getLeadingDims));
static_assert(is<size_t (*)(const aten::Tensor&, int64_t)>(&getTrailingDims));
static_assert(is<size_t (*)(const aten::Tensor&, const size_t* const)>(&coordinateToIndex));
static_assert(
    is<void (*)(const aten::Tensor&, size_t trailing_dims_memo[kTensorDimensionLimit])>(&memoizeTrailingDims));
static_assert(
    is<size_t (*)(const aten::Tensor&, const size_t* const, const size_t trailing_dims_memo[kTensorDimensionLimit])>(
        &coordinateToIndexWithTrailingDimsMemo));
static_assert(is<void (*)(const aten::Tensor&, size_t, size_t*)>(&indexToCoordinate));
static_assert(is<Error (*)(aten::Tensor, aten::ArrayRef<aten::SizesType>)>(&resize_tensor));
static_assert(is<void (*)(aten::Tensor, aten::ArrayRef<aten::SizesType>)>(&resize));
static_assert(is<Error (*)(const aten::Tensor&, aten::DimOrderType*, size_t)>(&get_dim_order));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_has_valid_dim_order));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_default_or_channels_last_dim_order));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_default_dim_order));
static_assert(is<bool (*)(aten::Tensor)>(&tensor_is_channels_last_dim_order));
static_assert(is<bool (*)(const aten::ArrayRef<aten::Tensor>)>(&tensors_have_same_dim_order));
static_assert(is<bool (*)(const aten::Tensor&, const aten::Tensor&)>(&tensors_have_same_dim_order));
static_assert(
    is<bool (*)(const aten::Tensor&, const aten::Tensor&, const aten::Tensor&)>(&tensors_have_same_dim_order));
static_assert(is<bool (*)(const aten::Tensor&, const aten::Tensor&, const aten::Tensor&, const aten::Tensor&)>(
    &tensors_have_same_dim_order));
static_assert(is<size_t (*)(const aten::SizesType*, const aten::StridesType*, const size_t)>(&calculate_linear_index));
static_assert(is<bool (*)(aten::Tensor, int32_t*)>(&extract_scalar_tensor<int32_t>));
static_assert(is<bool (*)(aten::Tensor, double*)>(&extract_scalar_tensor<double>));
static_assert(is<bool (*)(aten::Tensor, aten::Half*)>(&extract_scalar_tensor<aten::Half>));
static_assert(is<bool (*)(aten::Tensor, bool*)>(&extract_scalar_tensor<bool>));
static_assert(is<Error (*)(aten::Tensor, aten::ArrayRef<int64_t>)>(&resize_tensor<int64_t>));

}  // namespace surface
