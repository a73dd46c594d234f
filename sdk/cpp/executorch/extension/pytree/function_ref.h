// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/function_ref.h>

namespace executorch {
namespace extension {
namespace pytree {
using ::executorch::runtime::FunctionRef;
}  // namespace pytree
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace pytree {
using ::executorch::extension::pytree::FunctionRef;
}  // namespace pytree
}  // namespace executor
}  // namespace torch
