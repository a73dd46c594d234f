// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace internal {

#if ET_LOG_ENABLED
/// Joins names for an error line, without a heap. When the line is full, add() logs it and starts the next line.
class NameList final {
 public:
  /// Adds a name, with '...' around it if `quoted`.
  void add(const char* name, bool quoted = false) {
    const size_t length = std::strlen(name);
    if (length_ + length + sizeof(", ''") > sizeof(text_)) {
      flush();
    }
    append(length_ == 0 ? "" : ", ");
    append(quoted ? "'" : "");
    append(name);
    append(quoted ? "'" : "");
    ++size_;
  }

  size_t size() const { return size_; }

  /// The names of the last line, which was not logged.
  const char* text() const { return text_; }

 private:
  void flush() {
    if (length_ > 0) {
      ET_LOG(Error, "%s,", text_);
      length_ = 0;
      text_[0] = '\0';
    }
  }

  void append(const char* part) {
    const size_t length = std::strlen(part);
    const size_t room = sizeof(text_) - 1 - length_;
    const size_t taken = length < room ? length : room;
    std::memcpy(text_ + length_, part, taken);
    length_ += taken;
    text_[length_] = '\0';
  }

  char text_[300] = "";
  size_t length_ = 0;
  size_t size_ = 0;
};
#else
/// Without messages the names do not matter.
class NameList final {
 public:
  void add(const char*, bool = false) { ++size_; }
  size_t size() const { return size_; }
  const char* text() const { return ""; }

 private:
  size_t size_ = 0;
};
#endif

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
