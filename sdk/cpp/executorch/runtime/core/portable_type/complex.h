// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// With PyTorch's headers, this is PyTorch's type, because a program must have only one complex.
#if __has_include(<c10/util/complex.h>)
#include <c10/util/complex.h>
#else
#include <executorch/runtime/core/portable_type/c10/c10/util/complex.h>
#endif

namespace executorch {
namespace runtime {
namespace etensor {
using c10::complex;
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::complex;
}  // namespace executor
}  // namespace torch
