// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<TensorPtrMaker, TensorPtrMaker&&>);
static_assert(is<TensorPtrMaker& (TensorPtrMaker::*)(TensorPtrMaker&&)>(&TensorPtrMaker::operator=));
static_assert(is < TensorPtrMaker && (TensorPtrMaker::*)(aten::ScalarType) > (&TensorPtrMaker::type));
static_assert(is < TensorPtrMaker &&
              (TensorPtrMaker::*)(std::vector<aten::DimOrderType>) > (&TensorPtrMaker::dim_order));
static_assert(is < TensorPtrMaker && (TensorPtrMaker::*)(std::vector<aten::StridesType>) > (&TensorPtrMaker::strides));
static_assert(is < TensorPtrMaker && (TensorPtrMaker::*)(aten::TensorShapeDynamism) > (&TensorPtrMaker::dynamism));
static_assert(is < TensorPtrMaker && (TensorPtrMaker::*)(std::function<void(void*)>&&) > (&TensorPtrMaker::deleter));
static_assert(is<TensorPtr (TensorPtrMaker::*)() &&>(&TensorPtrMaker::make_tensor_ptr));
static_assert(is<TensorPtrMaker (*)(void*, std::vector<aten::SizesType>, aten::ScalarType)>(&for_blob));
using for_blob_default = decltype(for_blob(make<void*>(), make<std::vector<aten::SizesType>>()));
static_assert(
    is<TensorPtr (*)(void*, std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&from_blob));
using from_blob_default = decltype(from_blob(make<void*>(), make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(void*, std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&from_blob));
using from_blob_default =
    decltype(from_blob(make<void*>(), make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>()));
static_assert(is<TensorPtr (*)(void*, std::vector<aten::SizesType>, aten::ScalarType, std::function<void(void*)>&&,
                               aten::TensorShapeDynamism)>(&from_blob));
using from_blob_default = decltype(from_blob(make<void*>(), make<std::vector<aten::SizesType>>(),
                                             make<aten::ScalarType>(), make<std::function<void(void*)>&&>()));
static_assert(is<TensorPtr (*)(void*, std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::ScalarType,
                               std::function<void(void*)>&&, aten::TensorShapeDynamism)>(&from_blob));
using from_blob_default =
    decltype(from_blob(make<void*>(), make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>(),
                       make<aten::ScalarType>(), make<std::function<void(void*)>&&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&empty_strided));
using empty_strided_default =
    decltype(empty_strided(make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType, aten::TensorShapeDynamism)>(&empty_like));
using empty_like_default = decltype(empty_like(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&empty));
using empty_default = decltype(empty(make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::Scalar,
                               aten::ScalarType, aten::TensorShapeDynamism)>(&full_strided));
using full_strided_default = decltype(full_strided(make<std::vector<aten::SizesType>>(),
                                                   make<std::vector<aten::StridesType>>(), make<aten::Scalar>()));
static_assert(
    is<TensorPtr (*)(const TensorPtr&, aten::Scalar, aten::ScalarType, aten::TensorShapeDynamism)>(&full_like));
using full_like_default = decltype(full_like(make<const TensorPtr&>(), make<aten::Scalar>()));
static_assert(
    is<TensorPtr (*)(std::vector<aten::SizesType>, aten::Scalar, aten::ScalarType, aten::TensorShapeDynamism)>(&full));
using full_default = decltype(full(make<std::vector<aten::SizesType>>(), make<aten::Scalar>()));
static_assert(is<TensorPtr (*)(aten::Scalar, aten::ScalarType)>(&scalar_tensor));
using scalar_tensor_default = decltype(scalar_tensor(make<aten::Scalar>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType, aten::TensorShapeDynamism)>(&ones_like));
using ones_like_default = decltype(ones_like(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&ones));
using ones_default = decltype(ones(make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType, aten::TensorShapeDynamism)>(&zeros_like));
using zeros_like_default = decltype(zeros_like(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&zeros));
using zeros_default = decltype(zeros(make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&rand_strided));
using rand_strided_default =
    decltype(rand_strided(make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType, aten::TensorShapeDynamism)>(&rand_like));
using rand_like_default = decltype(rand_like(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&rand));
using rand_default = decltype(rand(make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, std::vector<aten::StridesType>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&randn_strided));
using randn_strided_default =
    decltype(randn_strided(make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>()));
static_assert(is<TensorPtr (*)(const TensorPtr&, aten::ScalarType, aten::TensorShapeDynamism)>(&randn_like));
using randn_like_default = decltype(randn_like(make<const TensorPtr&>()));
static_assert(is<TensorPtr (*)(std::vector<aten::SizesType>, aten::ScalarType, aten::TensorShapeDynamism)>(&randn));
using randn_default = decltype(randn(make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (*)(int64_t, int64_t, std::vector<aten::SizesType>, std::vector<aten::StridesType>,
                               aten::ScalarType, aten::TensorShapeDynamism)>(&randint_strided));
using randint_strided_default = decltype(randint_strided(
    make<int64_t>(), make<int64_t>(), make<std::vector<aten::SizesType>>(), make<std::vector<aten::StridesType>>()));
static_assert(
    is<TensorPtr (*)(const TensorPtr&, int64_t, int64_t, aten::ScalarType, aten::TensorShapeDynamism)>(&randint_like));
using randint_like_default = decltype(randint_like(make<const TensorPtr&>(), make<int64_t>(), make<int64_t>()));
static_assert(is<TensorPtr (*)(int64_t, int64_t, std::vector<aten::SizesType>, aten::ScalarType,
                               aten::TensorShapeDynamism)>(&randint));
using randint_default = decltype(randint(make<int64_t>(), make<int64_t>(), make<std::vector<aten::SizesType>>()));
static_assert(is<TensorPtr (TensorPtrMaker::*)() &&>(&TensorPtrMaker::operator TensorPtr));

}  // namespace surface
