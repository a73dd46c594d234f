// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/dtype_util.h>

#include "signatures.h"

namespace surface {

using torch::executor::native::utils::SupportedTensorDtypes;

static_assert(static_cast<int>(SupportedTensorDtypes::REALHBBF16) == 0);
static_assert(static_cast<int>(SupportedTensorDtypes::SAME_AS_COMMON) == 8);

}  // namespace surface
