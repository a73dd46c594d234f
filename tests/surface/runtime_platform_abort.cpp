// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/abort.h>

#include "signatures.h"

namespace surface {

static_assert(is<void (*)()>(&runtime_abort));

}  // namespace surface
