// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// Copies the input, where a backend leaves a part of a model to the runtime. A kernel of the llm library (CMake:
/// `custom_ops`).
Tensor& fallback_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out);

}  // namespace native
}  // namespace executor
}  // namespace torch
