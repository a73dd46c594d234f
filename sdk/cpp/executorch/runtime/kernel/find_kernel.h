// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace runtime {
namespace internal {

/// get_op_function_from_registry() without a log line if there is none; returns null. For callers that search several
/// places, or report everything that is missing at once.
OpFunction find_kernel(const char* name, Span<const TensorMeta> tensors);

/// The same for the kernels of a list.
OpFunction find_kernel(const char* name, Span<const TensorMeta> tensors, Span<const Kernel> kernels);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
