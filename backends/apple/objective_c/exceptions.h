// SPDX-License-Identifier: BSD-3-Clause
// Exceptions and errors of Apple's frameworks, for C++.
#pragma once

#import <Foundation/Foundation.h>

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

/// Runs `function`. What it raises becomes DelegateInvalidHandle, whose message has the text.
template <typename Function>
auto without_exceptions(const char *framework, Function &&function) -> decltype(function()) {
  @autoreleasepool {
    @try {
      return function();
    } @catch (NSException *exception) {
      ET_LOG(Error, "%s raised %s: %s", framework, text_of([exception name]).c_str(),
             text_of([exception reason]).c_str());
      return runtime::Error::DelegateInvalidHandle;
    }
  }
}

}  // namespace apple
}  // namespace backends
}  // namespace executorch
