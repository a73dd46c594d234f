// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/span.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<Span<int>>);
static_assert(std::is_constructible_v<Span<int>, int*, size_t>);
static_assert(std::is_constructible_v<Span<int>, int*, int*>);
static_assert(std::is_constructible_v<Span<int>, int&>);
static_assert(is<Span<int>::iterator (Span<int>::*)() const>(&Span<int>::begin));
static_assert(is<Span<int>::iterator (Span<int>::*)() const>(&Span<int>::end));
static_assert(is<bool (Span<int>::*)() const>(&Span<int>::empty));
static_assert(is<int* (Span<int>::*)() const>(&Span<int>::data));
static_assert(is<size_t (Span<int>::*)() const>(&Span<int>::size));
static_assert(is<int& (Span<int>::*)(size_t) const>(&Span<int>::operator[]));
static_assert(std::is_same_v<Span<int>::value_type, int> && std::is_same_v<Span<int>::iterator, int*>);
static_assert(std::is_same_v<Span<int>::size_type, size_t> && std::is_convertible_v<int (&)[3], Span<int>>);

}  // namespace surface
