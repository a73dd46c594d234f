// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {

/// How far the sizes of a tensor may change after the program was exported. The rank never changes.
enum class TensorShapeDynamism : uint8_t {
  STATIC = 0,           ///< Sizes never change.
  DYNAMIC_BOUND = 1,    ///< The first sizes are an upper bound: the buffer holds that many elements and no more.
  DYNAMIC_UNBOUND = 2,  ///< No bound is known at export; the buffer is supplied later.
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::TensorShapeDynamism;
}  // namespace executor
}  // namespace torch
