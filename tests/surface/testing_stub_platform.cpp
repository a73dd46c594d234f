// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/test/stub_platform.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<InterceptWith, PlatformIntercept&>);

}  // namespace surface
