// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/bfloat16.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<BFloat16, ::c10::BFloat16>);

}  // namespace surface
