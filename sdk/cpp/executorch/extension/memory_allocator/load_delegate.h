// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>

namespace executorch {
namespace extension {
namespace internal {

/// Makes a delegate in the memory of the method, which frees the memory without destroying the delegate: a delegate
/// that does not load is destroyed here, also if something throws.
///
/// @param load Called as `Error load(Delegate* place, Delegate*& delegate)`: constructs the delegate at `place`, sets
/// `delegate` to it, and loads it. May throw at any point.
/// @return The delegate, or the error of `load`; MemoryAllocationFailed if memory runs out, Internal after any other
/// exception.
template <typename Delegate, typename Load>
runtime::Result<runtime::DelegateHandle*> load_delegate(runtime::BackendInitContext& context, Load&& load) {
  auto* const place = context.get_runtime_allocator()->template allocateInstance<Delegate>();
  ET_CHECK_OR_RETURN_ERROR(place != nullptr, MemoryAllocationFailed, "no memory for a delegate");
  Delegate* delegate = nullptr;
  const runtime::Error error = report_exceptions([&]() -> runtime::Error { return load(place, delegate); });
  if (error != runtime::Error::Ok) {
    if (delegate != nullptr) {
      delegate->~Delegate();
    }
    return error;
  }
  return delegate;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
