// SPDX-License-Identifier: BSD-3-Clause
// What every function of the C interface goes through: log lines become the text of the error, no exception gets out.
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

/// Prepares the runtime and takes over its log, once for the process.
void initialize();

/// While it lives, error lines that this thread logs are kept. The innermost one receives.
class LogCapture final {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// Called while a line is logged; never throws.
  void add(const char* message, size_t length) noexcept;

  /// The status; with an object in `*error`, if wanted, when it is not Ok. Without, the lines go to the log after all.
  et_status finish(runtime::Error status, et_error** error) noexcept;

 private:
  LogCapture* outer_;
  std::vector<std::string> lines_;
};

/// Runs `body`, which returns an Error, and turns what comes of it into what the C function returns.
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

/// The same for functions that give an object through `out`, which becomes null first.
template <typename Object, typename Body>
et_status call_for(Object** out, et_error** error, Body&& body) noexcept {
  if (out != nullptr) {
    *out = nullptr;
  }
  return call(error, [&]() -> runtime::Error {
    ET_CHECK_OR_RETURN_ERROR(out != nullptr, InvalidArgument,
                             "expected a place for the new object in `out`, found NULL");
    return body();
  });
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// Inside call(): refuses a null pointer by the name of the parameter.
#define ET_CHECK_NOT_NULL(parameter)                                \
  ET_CHECK_OR_RETURN_ERROR((parameter) != nullptr, InvalidArgument, \
                           "expected a pointer in `" #parameter "`, found NULL")
