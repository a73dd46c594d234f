// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/aten_util/aten_bridge.h>

#include <type_traits>

namespace surface {

namespace extension = executorch::extension;
using executorch::extension::TensorPtr;

static_assert(std::is_same_v<decltype(&extension::torch_to_executorch_scalar_type),
                             torch::executor::ScalarType (*)(caffe2::TypeMeta)>);
static_assert(std::is_same_v<decltype(&extension::executorch_to_torch_scalar_type),
                             c10::ScalarType (*)(torch::executor::ScalarType)>);
static_assert(
    std::is_same_v<decltype(&extension::alias_etensor_to_attensor), void (*)(at::Tensor&, torch::executor::Tensor&)>);
static_assert(
    std::is_same_v<decltype(&extension::alias_attensor_to_etensor), at::Tensor (*)(const torch::executor::Tensor&)>);
static_assert(std::is_same_v<decltype(&extension::alias_tensor_ptr_to_attensor), TensorPtr (*)(at::Tensor&)>);

// Older names.
static_assert(
    std::is_same_v<decltype(&torch::executor::util::alias_attensor_to_etensor),
                   at::Tensor (*)(const torch::executor::Tensor&)> &&
    std::is_same_v<decltype(&torch::util::alias_attensor_to_etensor), at::Tensor (*)(const torch::executor::Tensor&)> &&
    std::is_same_v<decltype(&torch::executor::util::alias_etensor_to_attensor),
                   void (*)(at::Tensor&, torch::executor::Tensor&)> &&
    std::is_same_v<decltype(&torch::util::alias_etensor_to_attensor), void (*)(at::Tensor&, torch::executor::Tensor&)>);
static_assert(std::is_same_v<decltype(&torch::util::torchToExecuTorchScalarType),
                             torch::executor::ScalarType (*)(caffe2::TypeMeta)>);
static_assert(std::is_same_v<decltype(&torch::util::execuTorchtoTorchScalarType),
                             c10::ScalarType (*)(torch::executor::ScalarType)>);
static_assert(std::is_same_v<decltype(&torch::executor::util::torchToExecuTorchScalarType),
                             torch::executor::ScalarType (*)(caffe2::TypeMeta)>);
static_assert(std::is_same_v<decltype(&torch::executor::util::execuTorchtoTorchScalarType),
                             c10::ScalarType (*)(torch::executor::ScalarType)>);

}  // namespace surface
