// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace extension {
namespace c_api {

/// While the object exists, the threads of the pool are not replaced. Held by calls that run kernels or backends.
class ThreadsInUse final {
 public:
  ThreadsInUse();
  ~ThreadsInUse();
  ThreadsInUse(const ThreadsInUse&) = delete;
  ThreadsInUse& operator=(const ThreadsInUse&) = delete;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
