// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace internal {

/// `count` elements at `data`, converted one by one from `from` to `to`, as bytes.
/// Ends the process, saying why, if the conversion would lose information by kind: floating point to integer, anything
/// to bool, or a type that has no elements to convert (quantized and the like).
std::vector<uint8_t> convert_elements(const void* data, aten::ScalarType from, size_t count, aten::ScalarType to);

/// Writes `value` `count` times as elements of `type` to `data`.
void fill_elements(void* data, aten::ScalarType type, size_t count, const aten::Scalar& value);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
