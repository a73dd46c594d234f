// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/function_ref.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Finds a key that occurs twice among `key_at(0)` ... `key_at(count - 1)` without any heap.
///
/// The keys are distributed over passes by their hash; each pass sorts its keys into a small table on the stack. The
/// cost is at most count * (1 + count / 128) hashes, even for malicious keys: if too many fall into one pass, which
/// does not happen with random ones, the search ends there.
///
/// Returns true if a key occurs twice, or if the search was aborted; `*duplicate` is that key or null.
bool find_duplicate_key(size_t count, FunctionRef<const char*(size_t)> key_at, const char** duplicate);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
