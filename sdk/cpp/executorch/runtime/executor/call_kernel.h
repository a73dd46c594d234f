// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace runtime {
namespace internal {

#ifdef USE_ATEN_LIB

/// Runs a kernel without PyTorch's bookkeeping of gradients. An exception of PyTorch fails the context with
/// Error::Internal and is logged, and a warning is logged.
void call_kernel(OpFunction kernel, KernelRuntimeContext& context, Span<EValue*> args);

/// Releases the tensors that a list has copied for kernels, because they are reference counted.
void release_items(EValue& value);

#else

inline void call_kernel(OpFunction kernel, KernelRuntimeContext& context, Span<EValue*> args) {
  kernel(context, args);
}

inline void release_items(EValue& /*value*/) {}

#endif

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
