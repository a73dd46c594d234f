// SPDX-License-Identifier: BSD-3-Clause
// Writing to a cache of keys or values: (batch, positions, heads, width).
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Whether `value` (batch, length, heads, width) can be written to `cache` from `start_pos`: both contiguous, of one
/// dtype, and with room for it. Otherwise reports InvalidArgument, and nothing is written. `name` is the
/// cache's in messages.
bool check_cache(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& value, const Tensor& cache,
                 int64_t start_pos);

/// Copies after check_cache().
void write_cache(const Tensor& value, Tensor& cache, int64_t start_pos);

}  // namespace torch::executor::native
