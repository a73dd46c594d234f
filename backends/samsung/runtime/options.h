// SPDX-License-Identifier: BSD-3-Clause
// The compile spec "enn_compile_options": a flatbuffer with the identifier EETO, whose table has one field, the number
// of the chip as int32.
#pragma once

#include <cstdint>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace enn {

/// The number of the chip that a program was compiled for; 0 if it does not say. InvalidProgram (logged) for bytes that
/// are not options.
runtime::Result<int32_t> read_chip(runtime::ArrayRef<runtime::CompileSpec> specs);

}  // namespace enn
}  // namespace backends
}  // namespace executorch
