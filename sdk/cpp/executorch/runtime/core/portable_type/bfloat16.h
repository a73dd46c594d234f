// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// With PyTorch's headers, this is PyTorch's type, because a program must have only one BFloat16.
#if __has_include(<c10/util/BFloat16.h>)
#include <c10/util/BFloat16.h>
#else
#include <executorch/runtime/core/portable_type/c10/c10/util/BFloat16.h>
#endif

namespace executorch {
namespace runtime {
namespace etensor {
using c10::BFloat16;
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::BFloat16;
}  // namespace executor
}  // namespace torch
