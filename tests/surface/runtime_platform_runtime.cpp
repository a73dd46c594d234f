// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/runtime.h>

#include "signatures.h"

namespace surface {

static_assert(is<void (*)()>(&runtime_init));

}  // namespace surface
