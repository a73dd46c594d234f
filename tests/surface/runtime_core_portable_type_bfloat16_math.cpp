// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/bfloat16_math.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(c10::is_reduced_floating_point_v<c10::BFloat16> && c10::is_reduced_floating_point_v<c10::Half>);
static_assert(!c10::is_reduced_floating_point_v<float> && !c10::is_reduced_floating_point_v<int>);

}  // namespace surface
