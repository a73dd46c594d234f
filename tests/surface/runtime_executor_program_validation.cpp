// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/program_validation.h>

#include "signatures.h"

namespace surface {

static_assert(is<Error (*)(const executorch_flatbuffer::Tensor*)>(&validate_tensor));
static_assert(is<Error (*)(const executorch_flatbuffer::Program*)>(&validate_program));

}  // namespace surface
