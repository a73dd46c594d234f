// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <executorch/extension/c_api/executorch.h>

namespace executorch {
namespace extension {
namespace c_api {

/// The caller's memory, released by the destructor.
class Release final {
 public:
  Release() = default;
  Release(void* data, et_release release, void* context) : data_(data), release_(release), context_(context) {}
  Release(Release&& from) noexcept
      : data_(from.data_), release_(std::exchange(from.release_, nullptr)), context_(from.context_) {}
  Release& operator=(Release&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(release_, from.release_);
    std::swap(context_, from.context_);
    return *this;
  }
  ~Release() {
    if (release_ != nullptr) {
      release_(data_, context_);
    }
  }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  et_release release_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
