// SPDX-License-Identifier: BSD-3-Clause
// The operators of each file of this folder.
#pragma once

#include <vector>

#include <executorch/runtime/core/span.h>

#include "graph/op_context.h"

namespace executorch {
namespace backends {
namespace vulkan {

using Operators = runtime::Span<const Operator>;

Operators elementwise_operators();
Operators copy_operators();
Operators join_operators();
Operators create_operators();
Operators reduce_operators();
Operators norm_operators();
Operators matmul_operators();
Operators convolution_operators();
Operators window_operators();
Operators index_operators();
Operators symbolic_operators();
Operators quantize_operators();
Operators quantized_linear_operators();
Operators attention_operators();
Operators quantized_convolution_operators();

/// The operators of all files.
std::vector<Operators> operator_tables();

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
