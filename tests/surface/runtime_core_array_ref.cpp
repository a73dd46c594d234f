// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/array_ref.h>

#include <array>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<ArrayRef<int>>);
static_assert(std::is_constructible_v<ArrayRef<int>, const int&>);
static_assert(std::is_constructible_v<ArrayRef<int>, const int*, size_t>);
static_assert(std::is_constructible_v<ArrayRef<int>, const int*, const int*>);
static_assert(is<ArrayRef<int>::iterator (ArrayRef<int>::*)() const>(&ArrayRef<int>::begin));
static_assert(is<ArrayRef<int>::iterator (ArrayRef<int>::*)() const>(&ArrayRef<int>::end));
static_assert(is<ArrayRef<int>::const_iterator (ArrayRef<int>::*)() const>(&ArrayRef<int>::cbegin));
static_assert(is<ArrayRef<int>::const_iterator (ArrayRef<int>::*)() const>(&ArrayRef<int>::cend));
static_assert(is<bool (ArrayRef<int>::*)() const>(&ArrayRef<int>::empty));
static_assert(is<const int* (ArrayRef<int>::*)() const>(&ArrayRef<int>::data));
static_assert(is<size_t (ArrayRef<int>::*)() const>(&ArrayRef<int>::size));
static_assert(is<const int& (ArrayRef<int>::*)() const>(&ArrayRef<int>::front));
static_assert(is<const int& (ArrayRef<int>::*)() const>(&ArrayRef<int>::back));
static_assert(is<bool (ArrayRef<int>::*)(ArrayRef<int>) const>(&ArrayRef<int>::equals));
static_assert(is<ArrayRef<int> (ArrayRef<int>::*)(size_t, size_t) const>(&ArrayRef<int>::slice));
static_assert(is<ArrayRef<int> (ArrayRef<int>::*)(size_t) const>(&ArrayRef<int>::slice));
static_assert(is<const int& (ArrayRef<int>::*)(size_t) const>(&ArrayRef<int>::operator[]));
static_assert(is<const int& (ArrayRef<int>::*)(size_t) const>(&ArrayRef<int>::at));
static_assert(std::is_same_v<ArrayRef<int>::iterator, const int*> &&
              std::is_same_v<ArrayRef<int>::const_iterator, const int*>);
static_assert(std::is_same_v<ArrayRef<int>::size_type, size_t> && std::is_same_v<ArrayRef<int>::value_type, int>);
static_assert(std::is_convertible_v<const std::array<int, 3>&, ArrayRef<int>> &&
              std::is_convertible_v<const int (&)[3], ArrayRef<int>>);
static_assert(is<ArrayRef<int> (*)(const int&)>(&makeArrayRef<int>));
static_assert(is<ArrayRef<int> (*)(const int*, size_t)>(&makeArrayRef<int>));
static_assert(is<ArrayRef<int> (*)(const int*, const int*)>(&makeArrayRef<int>));
static_assert(is<ArrayRef<int> (*)(const std::array<int, 3>&)>(&makeArrayRef<int, 3>));
static_assert(is<ArrayRef<int> (*)(const ArrayRef<int>&)>(&makeArrayRef<int>));
static_assert(is<ArrayRef<int>& (*)(ArrayRef<int>&)>(&makeArrayRef<int>));
static_assert(is<ArrayRef<int> (*)(const int (&)[3])>(&makeArrayRef<int, 3>));
static_assert(is<bool (*)(ArrayRef<int>, ArrayRef<int>)>(&runtime::operator== <int>));
static_assert(is<bool (*)(ArrayRef<int>, ArrayRef<int>)>(&runtime::operator!= <int>));
static_assert(std::is_same_v<IntArrayRef, ArrayRef<int64_t>>);

}  // namespace surface
