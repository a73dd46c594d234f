// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * executorch::aten: the names of the tensor types with which kernels are written. They are the portable types or,
 * with USE_ATEN_LIB, PyTorch's own. A program uses only one of the two: a target that defines USE_ATEN_LIB links the
 * libraries whose names end in _aten, which define it for their users, too.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <executorch/runtime/core/tensor_shape_dynamism.h>

// Both define ET_RUNTIME_NAMESPACE, the namespace in `executorch` for everything that differs between the two.
#ifdef USE_ATEN_LIB
#include <executorch/runtime/core/exec_aten/torch_types.h>
#else
#include <executorch/runtime/core/exec_aten/portable_types.h>
#endif

namespace executorch {
namespace aten {

using TensorShapeDynamism = ::executorch::runtime::TensorShapeDynamism;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

}  // namespace aten
}  // namespace executorch

// The older namespace for the same names.
namespace exec_aten {
using namespace ::executorch::aten;
}  // namespace exec_aten

namespace torch {
namespace executor {
using TensorList = ::executorch::aten::TensorList;
}  // namespace executor
}  // namespace torch
