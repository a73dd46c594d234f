// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace executorch {
namespace runtime {

/// Largest rank of a tensor that kernels handle: the length of the arrays they keep on the stack.
constexpr size_t kTensorDimensionLimit = 16;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::kTensorDimensionLimit;
}  // namespace executor
}  // namespace torch
