// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace internal {

/// `count` elements at `data`, converted one by one from `from` to `to`, as bytes.
/// Empty, after a log line, if the conversion is lossy (floating point to integers except UInt16, UInt32 and UInt64, or
/// any other type to bool), and for types without convertible elements (quantized and similar).
std::optional<std::vector<uint8_t>> convert_elements(const void* data, aten::ScalarType from, size_t count,
                                                     aten::ScalarType to);

/// Writes `value` `count` times as elements of `type` to `data`, without its fraction for integers. False, after a log
/// line, for types without convertible elements, and for a number beyond the range of an integer type. As in PyTorch,
/// unsigned types take negative integers that wrap; those of more than 8 bits saturate fractional numbers.
bool fill_elements(void* data, aten::ScalarType type, size_t count, const aten::Scalar& value);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
