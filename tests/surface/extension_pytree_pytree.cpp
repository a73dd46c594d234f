// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pytree/pytree.h>

#include <type_traits>

namespace surface {

using namespace executorch::extension::pytree;  // NOLINT: the names under test

static_assert(static_cast<int>(Kind::List) == 0 && static_cast<int>(Kind::Tuple) == 1 &&
              static_cast<int>(Kind::NamedTuple) == 2 && static_cast<int>(Kind::Dict) == 3 &&
              static_cast<int>(Kind::Leaf) == 4 && static_cast<int>(Kind::Custom) == 5 &&
              static_cast<int>(Kind::None) == 6);
static_assert(static_cast<int>(Key::Kind::None) == 0 && static_cast<int>(Key::Kind::Int) == 1 &&
              static_cast<int>(Key::Kind::Str) == 2);
static_assert(std::is_same_v<KeyStr, std::string> && std::is_same_v<KeyInt, int32_t>);
static_assert(std::is_same_v<StrTreeSpec, std::string>);
static_assert(std::is_same_v<TreeSpec<Empty>, ContainerHandle<TreeSpecLeaf, Empty>>);
static_assert(std::is_same_v<TreeSpecContainer<Empty>, Container<TreeSpecLeaf, Empty>>);
static_assert(std::is_same_v<decltype(&from_str<Empty>), TreeSpec<Empty> (*)(const StrTreeSpec&)>);
static_assert(std::is_same_v<decltype(&to_str<Empty>), StrTreeSpec (*)(const TreeSpec<Empty>&)>);
static_assert(std::is_same_v<decltype(&to_str_internal<Empty>), StrTreeSpec (*)(const TreeSpec<Empty>&)>);
static_assert(std::is_same_v<decltype(&from_str_internal<Empty>),
                             TreeSpec<Empty> (*)(const StrTreeSpec&, size_t, const arr<size_t>&)>);
static_assert(std::is_same_v<decltype(&read_number), size_t (*)(const StrTreeSpec&, size_t&)>);
static_assert(std::is_same_v<decltype(&read_node_layout), arr<size_t> (*)(const StrTreeSpec&, size_t&)>);
static_assert(std::is_same_v<decltype(&pre_parse), arr<size_t> (*)(const StrTreeSpec&)>);
static_assert(stack<int>::SIZE == 8 && std::is_same_v<decltype(stack<int>::data), int[8]> &&
              std::is_same_v<decltype(stack<int>::size_), size_t> && std::is_final_v<stack<int>>);
static_assert(std::is_same_v<decltype(&stack<int>::push), void (stack<int>::*)(int&&)> &&
              std::is_same_v<decltype(&stack<int>::pop), int (stack<int>::*)()> &&
              std::is_same_v<decltype(&stack<int>::top), int& (stack<int>::*)()> &&
              std::is_same_v<decltype(&stack<int>::size), size_t (stack<int>::*)()>);
static_assert(std::is_same_v<decltype(&refresh_leaves_num<int, Empty>), size_t (*)(const ContainerHandle<int>&)>);
static_assert(std::is_same_v<decltype(&clone<int, float, Empty>),
                             ContainerHandle<float, Empty> (*)(const ContainerHandle<int, Empty>&, float*)>);
static_assert(std::is_same_v<torch::executor::pytree::TreeSpec<Empty>, TreeSpec<Empty>>);
static_assert(std::is_same_v<torch::executor::pytree::FunctionRef<void()>, FunctionRef<void()>>);

EXECUTORCH_ALWAYS_INLINE int inlined() {
  return 1;
}

}  // namespace surface
