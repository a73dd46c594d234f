// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/function_ref.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Finds a key that occurs twice among `key_at(0)` ... `key_at(count - 1)` without any heap.
///
/// The keys are spread over passes by their hash; each pass sorts its share into a small table on the stack. The cost
/// is count * (1 + count / 128) hashes at most, also for hostile keys: when they crowd one pass, which random ones do
/// not, that pass ends the search.
///
/// Returns true when a key occurs twice, or when the search was given up; `*duplicate` is that key or null.
bool find_duplicate_key(size_t count, FunctionRef<const char*(size_t)> key_at, const char** duplicate);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
