// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/backend_option_context.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<BackendOptionContext>);

}  // namespace surface
