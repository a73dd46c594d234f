// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace extension {
namespace threadpool {

/// While a guard exists, parallel loops of its thread run on that thread only.
class NoThreadPoolGuard {
 public:
  /// Whether the current thread is guarded.
  static bool is_enabled();
  static void set_enabled(bool enabled);

  NoThreadPoolGuard() : outer_(is_enabled()) { set_enabled(true); }
  ~NoThreadPoolGuard() { set_enabled(outer_); }
  NoThreadPoolGuard(const NoThreadPoolGuard&) = delete;
  NoThreadPoolGuard& operator=(const NoThreadPoolGuard&) = delete;

 private:
  const bool outer_;
};

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace threadpool {
using ::executorch::extension::threadpool::NoThreadPoolGuard;
}  // namespace threadpool
}  // namespace executorch
}  // namespace torch
