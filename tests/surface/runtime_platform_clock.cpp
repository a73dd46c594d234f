// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/clock.h>

#include "signatures.h"

namespace surface {

static_assert(is<uint64_t (*)(et_timestamp_t)>(&ticks_to_ns));

}  // namespace surface
