// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pytree/aten_util/ivalue_util.h>

#include <type_traits>

namespace surface {

using Tensors = std::vector<at::Tensor>;
using Tree = std::unique_ptr<executorch::extension::pytree::TreeSpec<executorch::extension::pytree::Empty>>;
namespace older = torch::executor::util;

static_assert(
    std::is_same_v<decltype(&executorch::extension::flatten), std::pair<Tensors, Tree> (*)(const c10::IValue&)>);
static_assert(
    std::is_same_v<decltype(&executorch::extension::unflatten), c10::IValue (*)(const Tensors&, const Tree&)>);
static_assert(std::is_same_v<decltype(older::flatten(std::declval<c10::IValue>())), std::pair<Tensors, Tree>> &&
              std::is_same_v<decltype(older::unflatten(Tensors(), Tree())), c10::IValue> &&
              std::is_same_v<decltype(older::is_same(Tensors(), Tensors())), bool> &&
              std::is_same_v<decltype(older::is_same(c10::IValue(), c10::IValue())), bool>);

}  // namespace surface
