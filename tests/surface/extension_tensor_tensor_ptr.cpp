// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr.h>

#include "signatures.h"

namespace surface {

static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, void*, std::vector<aten::DimOrderType>,
                               std::vector<aten::StridesType>, const aten::ScalarType, const aten::TensorShapeDynamism,
                               std::function<void(void*)>, aten::Device)>(&make_tensor_ptr));
using make_tensor_ptr_default =
    decltype(make_tensor_ptr(make<std::vector<aten::SizesType>>(), make<void*>(),
                             make<std::vector<aten::DimOrderType>>(), make<std::vector<aten::StridesType>>()));
static_assert(
    is<TensorPtr (*)(std::vector<aten::SizesType>, void*, const aten::ScalarType, const aten::TensorShapeDynamism,
                     std::function<void(void*)>, aten::Device)>(&make_tensor_ptr));
using make_tensor_ptr_default = decltype(make_tensor_ptr(make<std::vector<aten::SizesType>>(), make<void*>()));
static_assert(
    is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<uint8_t>, std::vector<aten::DimOrderType>,
                     std::vector<aten::StridesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&make_tensor_ptr));
using make_tensor_ptr_default =
    decltype(make_tensor_ptr(make<std::vector<aten::SizesType>>(), make<std::vector<uint8_t>>(),
                             make<std::vector<aten::DimOrderType>>(), make<std::vector<aten::StridesType>>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<uint8_t>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&make_tensor_ptr));
using make_tensor_ptr_default =
    decltype(make_tensor_ptr(make<std::vector<aten::SizesType>>(), make<std::vector<uint8_t>>()));
static_assert(is<TensorPtr (*)(const aten::Tensor&, std::vector<aten::SizesType>, std::vector<aten::DimOrderType>,
                               std::vector<aten::StridesType>, std::function<void(void*)>)>(&make_tensor_ptr));
using make_tensor_ptr_default = decltype(make_tensor_ptr(make<const aten::Tensor&>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, std::vector<aten::SizesType>, std::vector<aten::DimOrderType>,
                               std::vector<aten::StridesType>)>(&make_tensor_ptr));
using make_tensor_ptr_default = decltype(make_tensor_ptr(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(const aten::Tensor&, aten::ScalarType)>(&clone_tensor_ptr));
static_assert(is<TensorPtr (*)(const aten::Tensor&)>(&clone_tensor_ptr));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType)>(&clone_tensor_ptr));
static_assert(is<TensorPtr (*)(const TensorPtr&)>(&clone_tensor_ptr));
static_assert(is<runtime::Error (*)(TensorPtr&, const std::vector<aten::SizesType>&)>(&resize_tensor_ptr));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::Device)>(&clone_tensor_ptr_to));
static_assert(std::is_same_v<TensorPtr, std::shared_ptr<aten::Tensor>>);
using Sizes = std::vector<aten::SizesType>;
using Order = std::vector<aten::DimOrderType>;
using Strides = std::vector<aten::StridesType>;
constexpr auto kType = aten::ScalarType::Int;
constexpr auto kDynamism = aten::TensorShapeDynamism::STATIC;
using FromVector = decltype(make_tensor_ptr(make<Sizes>(), make<std::vector<int>>(), make<Order>(), make<Strides>(),
                                            kType, kDynamism));
using FromData = decltype(make_tensor_ptr(make<std::vector<int>>(), kType, kDynamism));
using FromSizesAndList =
    decltype(make_tensor_ptr(make<Sizes>(), {1.0f, 2.0f}, make<Order>(), make<Strides>(), kType, kDynamism));
using FromList = decltype(make_tensor_ptr({1.0f, 2.0f}, kType, kDynamism));
using FromValue = decltype(make_tensor_ptr(1.0f));
static_assert(std::is_same_v<FromVector, TensorPtr> && std::is_same_v<FromData, TensorPtr>);
static_assert(std::is_same_v<FromSizesAndList, TensorPtr> && std::is_same_v<FromList, TensorPtr>);
static_assert(std::is_same_v<FromValue, TensorPtr>);

}  // namespace surface
