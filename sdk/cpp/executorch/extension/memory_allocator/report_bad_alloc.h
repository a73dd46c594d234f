// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <new>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

/// Returns the Error or Result of `function`, or MemoryAllocationFailed if a container in it throws std::bad_alloc.
/// Compiled without exceptions, the C++ library ends the process in that case.
template <typename Function>
auto report_bad_alloc(Function&& function) -> decltype(function()) {
#if ET_HAS_EXCEPTIONS
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "the heap has no memory left");
    return runtime::Error::MemoryAllocationFailed;
  }
#else
  return std::forward<Function>(function)();
#endif
}

/// Like the function above, for code of others, such as a vendor's library. Internal, with the text in the log, for any
/// other exception.
template <typename Function>
auto report_exceptions(Function&& function) -> decltype(function()) {
#if ET_HAS_EXCEPTIONS
  try {
    return report_bad_alloc(std::forward<Function>(function));
  } catch (const std::exception& exception) {
    ET_LOG(Error, "an exception: %s", exception.what());
  } catch (...) {
    ET_LOG(Error, "an exception that has no text");
  }
  return runtime::Error::Internal;
#else
  return std::forward<Function>(function)();
#endif
}

/// The result of is_available() of a backend, from the Error of `find`. If memory runs out, the backend may still be
/// available: then the result is true, and init() reports the error.
template <typename Function>
bool is_found(Function&& find) {
  const runtime::Error error = report_exceptions(std::forward<Function>(find));
  return error == runtime::Error::Ok || error == runtime::Error::MemoryAllocationFailed;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
