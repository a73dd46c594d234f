// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * New keys or values, written to a cache in place, for C++ that calls the kernels of the llm library (CMake:
 * `custom_ops`) without a program. Wrong arguments are logged, and set the error of the context. `out`, one element,
 * exists only because an operator needs a result; its content is not defined.
 */
#pragma once

#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// value (batch, positions, heads, width) is written to the cache from start_pos on; the cache must hold its
/// positions.
Tensor& update_cache_out(KernelRuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor& out);

/// Position i of batch b of `value` goes to position indices[b][i] of the cache; of equal indices the last one is kept.
/// `start_pos` is only checked.
Tensor& update_cache_with_indices_out(KernelRuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos,
                                      const Tensor& indices, Tensor& out);

}  // namespace native
}  // namespace executor
}  // namespace torch
