// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/function_ref.h>

#include "signatures.h"

namespace surface {

using Function = FunctionRef<int(float, char*)>;
static_assert(std::is_default_constructible_v<Function>);
static_assert(std::is_constructible_v<Function, std::nullptr_t>);
static_assert(std::is_convertible_v<int (*)(float, char*), Function>);
static_assert(std::is_convertible_v<short (&)(double, void*), Function>);
static_assert(!std::is_constructible_v<Function, int (*)(int*)>);
static_assert(is<int (Function::*)(float, char*) const>(&Function::operator()));
static_assert(is<bool (Function::*)() const>(&Function::operator bool));
static_assert(is<bool (Function::*)(const Function&) const>(&Function::operator==));

}  // namespace surface
