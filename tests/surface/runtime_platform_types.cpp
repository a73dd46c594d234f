// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/types.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_same_v<et_timestamp_t, uint64_t>);

}  // namespace surface
