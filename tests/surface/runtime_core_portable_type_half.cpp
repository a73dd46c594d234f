// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/half.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<Half, ::c10::Half>);

}  // namespace surface
