// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

namespace executorch {
namespace runtime {
namespace internal {

/// Writes text to memory of a fixed size, always terminated by NUL. printf would link a heap on boards that have none.
class FixedText final {
 public:
  /// `size` must be at least 1.
  FixedText(char* buffer, size_t size) : buffer_(buffer), room_(size - 1) { buffer_[0] = '\0'; }

  // For short texts: strlen() of C libraries for small processors is large, because it is optimised for long texts.
  void append(const char* part) {
    for (; *part != '\0'; ++part) {
      append(part, 1);
    }
  }

  void append_number(size_t number) {
    char digits[3 * sizeof(number)];
    size_t first = sizeof(digits);
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    append(digits + first, sizeof(digits) - first);
  }

  /// Whether all of the text fitted; otherwise it is truncated.
  bool fits() const { return fits_; }

 private:
  void append(const char* part, size_t length) {
    fits_ = fits_ && length <= room_;
    const size_t taken = length <= room_ ? length : room_;
    std::memcpy(buffer_, part, taken);
    buffer_ += taken;
    room_ -= taken;
    *buffer_ = '\0';
  }

  char* buffer_;
  size_t room_;
  bool fits_ = true;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
