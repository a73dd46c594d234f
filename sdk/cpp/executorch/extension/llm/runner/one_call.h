// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Reserves an object for one call. ok() is false, after a log line, if another call is using it.
class OneCall final {
 public:
  /// `problem`: the message if another call is using the object.
  explicit OneCall(std::atomic<bool>& busy,
                   const char* problem = "a generation is running: wait for its end, or call stop()")
      : busy_(busy), ok_(!busy.exchange(true)) {
    if (!ok_) {
      ET_LOG(Error, "%s", problem);
    }
  }
  ~OneCall() {
    if (ok_) {
      busy_ = false;
    }
  }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;
  bool ok() const { return ok_; }

 private:
  std::atomic<bool>& busy_;
  bool ok_;
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
