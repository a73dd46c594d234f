// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace etensor {

/// Memory format argument of an operator. The order of dimensions itself is a tensor's dim_order().
enum class MemoryFormat : int8_t {
  Contiguous = 0,
  Preserve = 1,
};

/// Storage layout argument of an operator; only dense strided tensors exist.
enum class Layout : int8_t {
  Strided = 0,
};

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Layout;
using ::executorch::runtime::etensor::MemoryFormat;
}  // namespace executor
}  // namespace torch
