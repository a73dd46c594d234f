// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// The Walsh-Hadamard transform of each row of `mat`, of 2^k or 28 * 2^k elements, divided by the square root of 2^k. A
/// kernel of the llm library (CMake: `custom_ops`).
Tensor& fast_hadamard_transform_out(KernelRuntimeContext& ctx, const Tensor& mat, Tensor& out);

}  // namespace native
}  // namespace executor
}  // namespace torch
