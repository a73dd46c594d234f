// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/system.h>

#include "signatures.h"

namespace surface {

static_assert(is<const char* (*)(const void*)>(&::et_pal_get_shared_library_name));
using NotSupported = decltype(DYNAMIC_LIBRARY_NOT_SUPPORTED);
using NotFound = decltype(DYNAMIC_LIBRARY_NOT_FOUND);

}  // namespace surface
