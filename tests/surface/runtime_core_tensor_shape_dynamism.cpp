// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/tensor_shape_dynamism.h>

#include "signatures.h"

namespace surface {

static_assert(static_cast<long>(TensorShapeDynamism::STATIC) == 0);
static_assert(static_cast<long>(TensorShapeDynamism::DYNAMIC_BOUND) == 1);
static_assert(static_cast<long>(TensorShapeDynamism::DYNAMIC_UNBOUND) == 2);
static_assert(std::is_same_v<std::underlying_type_t<TensorShapeDynamism>, uint8_t>);

}  // namespace surface
