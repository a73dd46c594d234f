// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/method.h>

/// Cancels the methods whose interrupt it is.
struct et_cancellation {
  std::atomic<executorch::runtime::Error> interrupt{executorch::runtime::Error::Ok};
};

namespace executorch {
namespace extension {
namespace c_api {

/// While the object exists, `cancellation`, which may be null, can cancel the method.
class Interruptible final {
 public:
  Interruptible(runtime::Method& method, const et_cancellation* cancellation) : method_(method) {
    method_.set_interrupt(cancellation != nullptr ? &cancellation->interrupt : nullptr);
  }
  ~Interruptible() { method_.set_interrupt(nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  runtime::Method& method_;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
