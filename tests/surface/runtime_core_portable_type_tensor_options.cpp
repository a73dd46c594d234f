// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/tensor_options.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(static_cast<long>(etensor::MemoryFormat::Contiguous) == 0);
static_assert(static_cast<long>(etensor::MemoryFormat::Preserve) == 1);
static_assert(std::is_same_v<std::underlying_type_t<etensor::MemoryFormat>, int8_t>);
static_assert(static_cast<long>(etensor::Layout::Strided) == 0);
static_assert(std::is_same_v<std::underlying_type_t<etensor::Layout>, int8_t>);

}  // namespace surface
