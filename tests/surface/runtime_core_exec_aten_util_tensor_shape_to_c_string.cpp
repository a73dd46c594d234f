// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>

#include "signatures.h"

namespace surface {

static_assert(
    is<std::array<char, kTensorShapeStringSizeLimit> (*)(Span<const std::int32_t>)>(&tensor_shape_to_c_string));
static_assert(
    is<std::array<char, kTensorShapeStringSizeLimit> (*)(Span<const std::int64_t>)>(&tensor_shape_to_c_string));
static_assert(kTensorShapeStringSizeLimit == 1 + 10 * kTensorDimensionLimit + 2 * kTensorDimensionLimit + 1);

}  // namespace surface
