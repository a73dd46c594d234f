// SPDX-License-Identifier: BSD-3-Clause
// Exceptions and errors of Apple's frameworks, for C++.
#pragma once

#import <Foundation/Foundation.h>

#include <exception>
#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace apple {

/// Empty for nil.
inline std::string text_of(NSString *text) {
  const char *const bytes = [text UTF8String];
  return bytes == nullptr ? "" : bytes;
}

/// Runs `function` with a pool for autoreleased objects. A C++ exception, such as std::bad_alloc, is rethrown after the
/// pool is drained: if it left @autoreleasepool, the objects would live until another pool of the thread ends.
template <typename Function>
auto in_pool(Function &&function) -> decltype(function()) {
  std::exception_ptr thrown;
  @autoreleasepool {
    try {
      return function();
    } catch (const std::exception &) {
      thrown = std::current_exception();
    }
  }
  std::rethrow_exception(thrown);
}

/// Like in_pool(), but an exception of Objective-C becomes DelegateInvalidHandle, with its text in the message.
template <typename Function>
auto without_exceptions(const char *framework, Function &&function) -> decltype(function()) {
  return in_pool([&]() -> decltype(function()) {
    @try {
      return function();
    } @catch (NSException *exception) {
      ET_LOG(Error, "%s raised %s: %s", framework, text_of([exception name]).c_str(),
             text_of([exception reason]).c_str());
      return runtime::Error::DelegateInvalidHandle;
    }
  });
}

}  // namespace apple
}  // namespace backends
}  // namespace executorch
