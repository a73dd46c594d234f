// SPDX-License-Identifier: BSD-3-Clause
// The dtypes for which a source file is compiled: all, or, in a selective build by dtype, the dtypes of the tensors
// that the programs pass to the file's operators. Programs with other dtypes are refused when they are loaded.
#pragma once

#include <cstdint>

#include "kernels/portable/cpu/pattern/types.h"

#ifdef EXECUTORCH_DTYPE_SELECTIVE_BUILD
#include <selected_op_variants.h>
#endif

namespace torch::executor::native {

// Each source file has other values, so nothing here has external linkage.
#ifdef EXECUTORCH_DTYPE_SELECTIVE_BUILD
static constexpr uint64_t kSelectedDtypes = executorch_selected_dtypes_of_source(__BASE_FILE__);
static constexpr uint64_t kDtypesOfAllSources = executorch_selected_dtypes_of_source("");
#else
static constexpr uint64_t kSelectedDtypes = ~uint64_t{0};
static constexpr uint64_t kDtypesOfAllSources = ~uint64_t{0};
#endif

/// Whether the source file is compiled for elements of this dtype.
static constexpr bool is_selected(ScalarType dtype) {
  return (kSelectedDtypes >> static_cast<unsigned>(dtype) & 1) != 0;
}

/// Whether the source file is compiled for arithmetic on integers: always, except in a build for floating-point numbers
/// only.
static constexpr bool kSelectsIntegers =
    is_selected(ScalarType::Byte) || is_selected(ScalarType::Char) || is_selected(ScalarType::Short) ||
    is_selected(ScalarType::Int) || is_selected(ScalarType::Long) || is_selected(ScalarType::Bool) ||
    is_selected(ScalarType::UInt16) || is_selected(ScalarType::UInt32) || is_selected(ScalarType::UInt64);

/// Whether some dtype of the build holds fewer values than the type that its arithmetic is done in. As this is the same
/// in every source file, functions with external linkage may depend on it.
static constexpr bool kRoundsResults =
    (kDtypesOfAllSources & ~(uint64_t{1} << static_cast<unsigned>(ScalarType::Float) |
                             uint64_t{1} << static_cast<unsigned>(ScalarType::Double) |
                             uint64_t{1} << static_cast<unsigned>(ScalarType::Long) |
                             uint64_t{1} << static_cast<unsigned>(ScalarType::UInt64))) != 0;

}  // namespace torch::executor::native
