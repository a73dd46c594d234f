// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <executorch/runtime/platform/compiler.h>

// Old names of std::optional; new code uses the std types.
namespace executorch {
namespace runtime {
namespace etensor {
template <typename T>
using optional ET_DEPRECATED = std::optional<T>;
using nullopt_t ET_DEPRECATED = std::nullopt_t;
inline constexpr std::nullopt_t nullopt{std::nullopt};
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
template <typename T>
using optional ET_DEPRECATED = std::optional<T>;
using nullopt_t ET_DEPRECATED = std::nullopt_t;
inline constexpr std::nullopt_t nullopt{std::nullopt};
}  // namespace executor
}  // namespace torch
