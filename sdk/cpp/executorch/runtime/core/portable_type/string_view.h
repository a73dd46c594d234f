// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include <executorch/runtime/platform/compiler.h>

// Old names of std::string_view; new code uses the std type.
namespace executorch {
namespace runtime {
namespace etensor {
using string_view ET_DEPRECATED = std::string_view;
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using string_view ET_DEPRECATED = std::string_view;
}  // namespace executor
}  // namespace torch
