// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/test/pal_spy.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_base_of_v<PlatformIntercept, PalSpy>);

}  // namespace surface
