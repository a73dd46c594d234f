// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>

#include "signatures.h"

namespace surface {

using aten::Tensor;
using Factory = ::torch::executor::testing::TensorFactory<aten::ScalarType::Bool>;
using Sizes = std::vector<int32_t>;
using Data = std::vector<uint8_t>;
using Order = std::vector<uint8_t>;
using Strides = std::vector<aten::StridesType>;
static_assert(std::is_same_v<Factory::ctype, uint8_t> && std::is_same_v<Factory::true_ctype, bool>);
static_assert(is<Tensor (Factory::*)(const Sizes&, const Data&, Strides, TensorShapeDynamism)>(&Factory::make));
static_assert(
    is<Tensor (Factory::*)(const Sizes&, const Data&, Order, TensorShapeDynamism)>(&Factory::make_with_dimorder));
static_assert(
    is<Tensor (Factory::*)(const Sizes&, const Data&, Order, TensorShapeDynamism)>(&Factory::make_channels_last));
static_assert(is<Tensor (Factory::*)(const Tensor&, TensorShapeDynamism)>(&Factory::channels_last_like));
static_assert(is<Tensor (Factory::*)(const Sizes&, uint8_t, TensorShapeDynamism)>(&Factory::full));
static_assert(is<Tensor (Factory::*)(const Sizes&, uint8_t, TensorShapeDynamism)>(&Factory::full_channels_last));
static_assert(is<Tensor (Factory::*)(const Sizes&, TensorShapeDynamism)>(&Factory::zeros));
static_assert(is<Tensor (Factory::*)(const Sizes&, TensorShapeDynamism)>(&Factory::zeros_channels_last));
static_assert(is<Tensor (Factory::*)(const Sizes&, TensorShapeDynamism)>(&Factory::ones));
static_assert(is<Tensor (Factory::*)(const Tensor&, uint8_t, TensorShapeDynamism)>(&Factory::full_like));
static_assert(is<Tensor (Factory::*)(const Tensor&, TensorShapeDynamism)>(&Factory::zeros_like));
static_assert(is<Tensor (Factory::*)(const Tensor&, TensorShapeDynamism)>(&Factory::ones_like));
using Made = decltype(make<Factory&>().make({2}, {0, 1}));
using Lists = ::torch::executor::testing::TensorListFactory<aten::ScalarType::Int>;
static_assert(is<aten::TensorList (Lists::*)(const std::vector<Tensor>&)>(&Lists::zeros_like));

}  // namespace surface
