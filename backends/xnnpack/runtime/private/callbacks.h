// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>
#include <utility>

#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Returns what `function` returns, or `failed` if a container in it throws std::bad_alloc. For functions that XNNPACK
/// calls: it is written in C, so that an exception that leaves them frees nothing, or ends the process.
template <typename Function>
auto without_exceptions(decltype(std::declval<Function>()()) failed, Function&& function) noexcept
    -> decltype(function()) {
#if ET_HAS_EXCEPTIONS
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return failed;
  }
#else
  (void)failed;
  return std::forward<Function>(function)();
#endif
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
