// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's tensors and memory that the GPU reads: dtypes, dim orders.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "graph/tensor.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// Converts `count` elements of a constant.
void copy_to_kind(const uint8_t* from, VkDataType dtype, size_t count, Kind kind, void* to);

/// Whether an argument with this dtype can be copied to a tensor of the graph.
bool can_copy(aten::ScalarType argument, VkDataType dtype);

/// Copies an argument in the order of its sizes.
runtime::Error copy_in(const aten::Tensor& from, Kind kind, void* to);

/// Copies to an argument.
runtime::Error copy_out(const void* from, Kind kind, aten::Tensor& to);

/// Reads element `index` of a contiguous integer tensor; false for other tensors, or if there is no such element.
bool integer_at(const aten::Tensor& tensor, int64_t index, int64_t* number);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
