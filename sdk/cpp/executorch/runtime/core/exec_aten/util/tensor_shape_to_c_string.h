// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Bytes of the longest text: brackets, kTensorDimensionLimit sizes of 10 digits with ", " between, a NUL.
constexpr size_t kTensorShapeStringSizeLimit = 1 + 10 * kTensorDimensionLimit + 2 * kTensorDimensionLimit + 1;

/**
 * Text of a shape for messages: "(2, 3)", "(5,)" for rank 1 and "()" for rank 0, as Python prints a tuple. Sizes that
 * are negative or above 2^31-1 print as "ERR"; a rank above kTensorDimensionLimit gives "(ERR: rank N)".
 */
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(
    executorch::runtime::Span<const std::int32_t> shape);
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(
    executorch::runtime::Span<const std::int64_t> shape);

}  // namespace runtime
}  // namespace executorch
