// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace extension {
namespace delegate {

/// Converts nanoseconds to the platform's ticks, without a division if a tick is a nanosecond.
class Ticks {
 public:
  uint64_t of(uint64_t ns) const {
    return ratio_.numerator == ratio_.denominator ? ns : ns * ratio_.denominator / ratio_.numerator;
  }

 private:
  const et_tick_ratio_t ratio_ = runtime::pal_ticks_to_ns_multiplier();
};

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
