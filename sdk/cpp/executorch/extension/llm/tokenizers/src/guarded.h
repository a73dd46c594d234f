// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <utility>

#include <executorch/runtime/platform/compiler.h>

#include "failure.h"

namespace tokenizers::detail {

/// Returns the Error or Result of `function`, or Error::OutOfMemory if a container in it throws because the heap is
/// exhausted. If compiled without exceptions, the C++ library ends the process in that case.
template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
#if ET_HAS_EXCEPTIONS
  try {
    return std::forward<Function>(function)();
  } catch (const std::exception& exception) {
    return fail(Error::OutOfMemory, "the tokenizer needs memory that the heap does not have: %s", exception.what());
  }
#else
  return std::forward<Function>(function)();
#endif
}

}  // namespace tokenizers::detail
