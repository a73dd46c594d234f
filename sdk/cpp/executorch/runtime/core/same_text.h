// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace runtime {
namespace internal {

/// Whether two NUL-terminated texts are equal; a null pointer equals nothing. Names are short and compared
/// while programs load. strcmp() of C libraries for small processors is a kilobyte of code that is optimised for long
/// texts.
inline bool same_text(const char* a, const char* b) {
  for (; a != nullptr && b != nullptr && *a == *b; ++a, ++b) {
    if (*a == '\0') {
      return true;
    }
  }
  return false;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
