// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/bfloat16_math.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

}  // namespace surface
