// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The only function with which the runtime aborts.
 */
#pragma once

#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace runtime {

/// Aborts through the platform layer (et_pal_abort). Only for programming errors: bad data returns an Error.
ET_NORETURN void runtime_abort();

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_abort;
}  // namespace executor
}  // namespace torch
