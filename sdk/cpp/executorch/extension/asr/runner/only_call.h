// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <utility>

#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

/// The Result of `function`, run as the only call of a runner: InvalidState during another call, and
/// MemoryAllocationFailed if the heap has no memory left.
template <typename Function>
auto only_call(std::atomic<bool>& busy, Function&& function) -> decltype(function()) {
  const llm::internal::OneCall call(busy);
  if (!call.ok()) {
    return runtime::Error::InvalidState;
  }
  return extension::internal::report_bad_alloc(std::forward<Function>(function));
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
