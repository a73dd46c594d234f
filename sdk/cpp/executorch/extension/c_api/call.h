// SPDX-License-Identifier: BSD-3-Clause
// The wrapper of every function of the C interface: log lines become the error's message; no exception leaves it.
#pragma once

#include <new>
#include <string>
#include <vector>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {
namespace c_api {

/// Initialises the runtime and redirects its log, once for the process.
void initialize();

/// While the object exists, it keeps the error lines of this thread. The innermost object receives them.
class LogCapture final {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// Called for each logged line of level Error or above; never throws.
  void add(const char* message, size_t length) noexcept;

  /// The status. If it is not Ok, makes an object in `*error`; if `error` is null, the lines go to the log.
  et_status finish(runtime::Error status, et_error** error) noexcept;

 private:
  LogCapture* outer_;
  std::vector<std::string> lines_;
};

/// Calls `body`, which returns an Error, and converts the error to the result of the C function.
template <typename Body>
et_status call(et_error** error, Body&& body) noexcept {
  if (error != nullptr) {
    *error = nullptr;
  }
  initialize();
  LogCapture capture;
#if ET_HAS_EXCEPTIONS
  try {
    return capture.finish(body(), error);
  } catch (const std::bad_alloc&) {
    return capture.finish(runtime::Error::MemoryAllocationFailed, error);
  } catch (...) {
    return capture.finish(runtime::Error::Internal, error);
  }
#else
  return capture.finish(body(), error);
#endif
}

/// Like call(), for functions that return an object through `out`, which is set to null first.
template <typename Object, typename Body>
et_status call_for(Object** out, et_error** error, Body&& body) noexcept {
  if (out != nullptr) {
    *out = nullptr;
  }
  return call(error, [&]() -> runtime::Error {
    ET_CHECK_OR_RETURN_ERROR(out != nullptr, InvalidArgument,
                             "expected a pointer for the new object in `out`, found NULL");
    return body();
  });
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// Inside call(): an error with the name of the parameter if a pointer is null.
#define ET_CHECK_NOT_NULL(parameter)                                \
  ET_CHECK_OR_RETURN_ERROR((parameter) != nullptr, InvalidArgument, \
                           "expected a pointer in `" #parameter "`, found NULL")
