// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/kernel_util/type_list.h>

#include "signatures.h"

namespace surface {

using namespace kernel_util_internal;  // NOLINT
using List = typelist<int, bool, float>;
static_assert(!false_t<int>::value);
static_assert(size<List>::value == 3);
static_assert(is_instantiation_of<typelist, List>::value && !is_instantiation_of_t<typelist, int>::value);
static_assert(std::is_same_v<element<0, List>::type, int> && std::is_same_v<element_t<2, List>, float>);
static_assert(std::is_same_v<head_with_default<char, typelist<>>::type, char>);
static_assert(std::is_same_v<head_with_default_t<char, List>, int>);
static_assert(std::is_same_v<take_elements<List, 1, std::index_sequence<0, 1>>::type, typelist<bool, float>>);
static_assert(std::is_same_v<drop_if_nonempty<List, 2>::type, typelist<float>>);
static_assert(std::is_same_v<drop_if_nonempty_t<List, 5>, typelist<>>);

}  // namespace surface
