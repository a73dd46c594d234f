// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

#include "signatures.h"

namespace surface {

static_assert(kTensorDimensionLimit == 16);

}  // namespace surface
