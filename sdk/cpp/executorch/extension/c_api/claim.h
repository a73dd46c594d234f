// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace c_api {

/// Claims an object for one call. `Owner` has `busy`, an atomic bool, and `kBusy`, the message for a second
/// call.
template <typename Owner>
class Claim final {
 public:
  explicit Claim(Owner& owner) : busy_(owner.busy), taken_(!owner.busy.exchange(true, std::memory_order_acquire)) {}
  ~Claim() {
    if (taken_) {
      busy_.store(false, std::memory_order_release);
    }
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  bool taken() const { return taken_; }

  /// InvalidState if another call uses the object.
  runtime::Error check() const {
    ET_CHECK_OR_RETURN_ERROR(taken_, InvalidState, "%s", Owner::kBusy);
    return runtime::Error::Ok;
  }

 private:
  std::atomic<bool>& busy_;
  bool taken_;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
