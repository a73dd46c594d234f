// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {

/// Converts platform ticks to nanoseconds. Exact while the result and ticks * numerator fit 64 bits.
inline uint64_t ticks_to_ns(et_timestamp_t ticks) {
  const et_tick_ratio_t ratio = pal_ticks_to_ns_multiplier();
  // Whole denominators first: keeps the product small for long up-times.
  const uint64_t whole = ticks / ratio.denominator;
  const uint64_t rest = ticks % ratio.denominator;
  return whole * ratio.numerator + rest * ratio.numerator / ratio.denominator;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::ticks_to_ns;
}  // namespace executor
}  // namespace torch
