// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/tensor.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_constructible_v<etensor::Tensor, TensorImpl*>);
static_assert(is<TensorImpl* (etensor::Tensor::*)() const>(&etensor::Tensor::unsafeGetTensorImpl));
static_assert(is<size_t (etensor::Tensor::*)() const>(&etensor::Tensor::nbytes));
static_assert(is<ssize_t (etensor::Tensor::*)(ssize_t) const>(&etensor::Tensor::size));
static_assert(is<ssize_t (etensor::Tensor::*)() const>(&etensor::Tensor::dim));
static_assert(is<ssize_t (etensor::Tensor::*)() const>(&etensor::Tensor::numel));
static_assert(is<ScalarType (etensor::Tensor::*)() const>(&etensor::Tensor::scalar_type));
static_assert(is<ScalarType (etensor::Tensor::*)() const>(&etensor::Tensor::dtype));
static_assert(is<ssize_t (etensor::Tensor::*)() const>(&etensor::Tensor::element_size));
static_assert(is<const ArrayRef<etensor::Tensor::SizesType> (etensor::Tensor::*)() const>(&etensor::Tensor::sizes));
static_assert(
    is<const ArrayRef<etensor::Tensor::DimOrderType> (etensor::Tensor::*)() const>(&etensor::Tensor::dim_order));
static_assert(is<const ArrayRef<etensor::Tensor::StridesType> (etensor::Tensor::*)() const>(&etensor::Tensor::strides));
static_assert(is<TensorShapeDynamism (etensor::Tensor::*)() const>(&etensor::Tensor::shape_dynamism));
static_assert(is<Device (etensor::Tensor::*)() const>(&etensor::Tensor::device));
static_assert(is<DeviceType (etensor::Tensor::*)() const>(&etensor::Tensor::device_type));
static_assert(is<DeviceIndex (etensor::Tensor::*)() const>(&etensor::Tensor::device_index));
static_assert(is<const void* (etensor::Tensor::*)() const>(&etensor::Tensor::const_data_ptr));
static_assert(is<void* (etensor::Tensor::*)() const>(&etensor::Tensor::mutable_data_ptr));
static_assert(is<void* (etensor::Tensor::*)() const>(&etensor::Tensor::data_ptr));
static_assert(is<void (etensor::Tensor::*)(void*) const>(&etensor::Tensor::set_data));
static_assert(std::is_same_v<Tensor::SizesType, int32_t> && std::is_same_v<Tensor::DimOrderType, uint8_t>);
static_assert(std::is_same_v<Tensor::StridesType, int32_t>);
static_assert(is<const int* (Tensor::*)() const>(&Tensor::const_data_ptr<int>));
static_assert(is<int* (Tensor::*)() const>(&Tensor::mutable_data_ptr<int>));
static_assert(is<int* (Tensor::*)() const>(&Tensor::data_ptr<int>));

}  // namespace surface
