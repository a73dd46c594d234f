// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include "signatures.h"

#if !defined(ET_PRI_TENSOR_SIZE) || !defined(ET_PRI_TENSOR_DIM) || !defined(ET_PRI_TENSOR_NUMEL) || \
    !defined(ET_PRI_SIZES_AND_STRIDES)
#error "A macro of this header is missing."
#endif

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_constructible_v<etensor::TensorImpl, ScalarType, ssize_t, etensor::TensorImpl::SizesType*, void*,
                                      etensor::TensorImpl::DimOrderType*, etensor::TensorImpl::StridesType*,
                                      TensorShapeDynamism, DeviceType, DeviceIndex>);
static_assert(std::is_constructible_v<etensor::TensorImpl, ScalarType, ssize_t, etensor::TensorImpl::SizesType*>);
static_assert(is<size_t (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::nbytes));
static_assert(is<ssize_t (etensor::TensorImpl::*)(ssize_t) const>(&etensor::TensorImpl::size));
static_assert(is<ssize_t (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::dim));
static_assert(is<ssize_t (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::numel));
static_assert(is<ScalarType (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::scalar_type));
static_assert(is<ScalarType (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::dtype));
static_assert(is<ssize_t (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::element_size));
static_assert(
    is<const ArrayRef<etensor::TensorImpl::SizesType> (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::sizes));
static_assert(is<const ArrayRef<etensor::TensorImpl::DimOrderType> (etensor::TensorImpl::*)() const>(
    &etensor::TensorImpl::dim_order));
static_assert(is<const ArrayRef<etensor::TensorImpl::StridesType> (etensor::TensorImpl::*)() const>(
    &etensor::TensorImpl::strides));
static_assert(is<TensorShapeDynamism (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::shape_dynamism));
static_assert(is<Device (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::device));
static_assert(is<DeviceType (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::device_type));
static_assert(is<DeviceIndex (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::device_index));
static_assert(is<const void* (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::data));
static_assert(is<void* (etensor::TensorImpl::*)() const>(&etensor::TensorImpl::mutable_data));
static_assert(is<void (etensor::TensorImpl::*)(void*)>(&etensor::TensorImpl::set_data));
static_assert(is<void (etensor::TensorImpl::*)(ArrayRef<etensor::TensorImpl::SizesType>)>(
    &etensor::TensorImpl::set_sizes_contiguous));
static_assert(is<ssize_t (*)(const etensor::TensorImpl::SizesType*, ssize_t)>(&etensor::compute_numel));
static_assert(is<Result<ssize_t> (*)(const etensor::TensorImpl::SizesType*, ssize_t)>(&etensor::safe_numel));
static_assert(std::is_same_v<TensorImpl::SizesType, int32_t> && std::is_same_v<TensorImpl::DimOrderType, uint8_t>);
static_assert(std::is_same_v<TensorImpl::StridesType, int32_t>);
static_assert(is<const int* (TensorImpl::*)() const>(&TensorImpl::data<int>));
static_assert(is<int* (TensorImpl::*)() const>(&TensorImpl::mutable_data<int>));

}  // namespace surface
