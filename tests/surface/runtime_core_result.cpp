// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/result.h>

#include "signatures.h"

#if !defined(ET_UNWRAP) || !defined(ET_ASSIGN_OR_RETURN)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(std::is_constructible_v<Result<int>, Error>);
static_assert(std::is_constructible_v<Result<int>, const int&>);
static_assert(std::is_constructible_v<Result<int>, int&&>);
static_assert(std::is_constructible_v<Result<int>, Result<int>&&>);
static_assert(std::is_destructible_v<Result<int>>);
static_assert(is<bool (Result<int>::*)() const>(&Result<int>::ok));
static_assert(is<Error (Result<int>::*)() const>(&Result<int>::error));
static_assert(is<int& (Result<int>::*)()>(&Result<int>::get));
static_assert(is<const int& (Result<int>::*)() const>(&Result<int>::get));
static_assert(is<const int& (Result<int>::*)() const&>(&Result<int>::operator*));
static_assert(is<int& (Result<int>::*)() &>(&Result<int>::operator*));
static_assert(is<const int* (Result<int>::*)() const>(&Result<int>::operator->));
static_assert(is<int* (Result<int>::*)()>(&Result<int>::operator->));
static_assert(std::is_same_v<Result<int>::value_type, int>);

}  // namespace surface
