// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Kernels of PyTorch as kernels of the runtime, for a build over at::Tensor (USE_ATEN_LIB): all out variants and
 * in-place operators of PyTorch's dispatcher, ATen's own and those of TORCH_LIBRARY.
 */
#pragma once

#include <algorithm>
#include <cstddef>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace c10 {
class OperatorHandle;
}  // namespace c10

namespace executorch {
namespace kernels {
namespace internal {

/// A string literal as a template argument.
template <size_t kSize>
struct OperatorName {
  char text[kSize];

  constexpr OperatorName(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
};

/// The operator of PyTorch with that name, "namespace::name.overload"; null, after a log line, when it is missing or
/// when it is neither an out variant nor in place. It lives as long as the process.
const ::c10::OperatorHandle* find_operator(const char* name);

/// Checks `stack`, the arguments followed by the operator's results, against its schema, and calls the operator.
/// Errors, in the context: InvalidProgram when they do not match, OperatorMissing when `op` is null. Throws what
/// PyTorch throws.
void call_operator(const ::c10::OperatorHandle* op, runtime::KernelRuntimeContext& context,
                   runtime::Span<runtime::EValue*> stack);

}  // namespace internal

/// `Kernel("aten::add.out", &DispatchedKernel<"aten::add.out">::call)` is PyTorch's addition.
template <internal::OperatorName kName>
struct DispatchedKernel {
  static void call(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> stack) {
    static const ::c10::OperatorHandle* const op = internal::find_operator(kName.text);
    internal::call_operator(op, context, stack);
  }
};

}  // namespace kernels
}  // namespace executorch
