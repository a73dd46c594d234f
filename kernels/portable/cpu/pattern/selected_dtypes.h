// SPDX-License-Identifier: BSD-3-Clause
// The dtypes that a source file is compiled for: all of them, or, in a selective build by dtypes, those of the tensors
// that the programs give the file's operators. Programs with others are refused when they are loaded.
#pragma once

#include <cstdint>

#include "kernels/portable/cpu/pattern/types.h"

#ifdef EXECUTORCH_DTYPE_SELECTIVE_BUILD
#include <selected_op_variants.h>
#endif

namespace torch::executor::native {

// These differ from one source file to the next, so nothing here has external linkage.
#ifdef EXECUTORCH_DTYPE_SELECTIVE_BUILD
static constexpr uint64_t kSelectedDtypes = executorch_selected_dtypes_of_source(__BASE_FILE__);
#else
static constexpr uint64_t kSelectedDtypes = ~uint64_t{0};
#endif

/// Whether there is code for elements of this dtype.
static constexpr bool is_selected(ScalarType dtype) {
  return (kSelectedDtypes >> static_cast<unsigned>(dtype) & 1) != 0;
}

/// Whether arithmetic is done on integers: in every build but one for floating-point numbers alone.
static constexpr bool kSelectsIntegers =
    is_selected(ScalarType::Byte) || is_selected(ScalarType::Char) || is_selected(ScalarType::Short) ||
    is_selected(ScalarType::Int) || is_selected(ScalarType::Long) || is_selected(ScalarType::Bool) ||
    is_selected(ScalarType::UInt16) || is_selected(ScalarType::UInt32) || is_selected(ScalarType::UInt64);

}  // namespace torch::executor::native
