// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The one place where the runtime gives up.
 */
#pragma once

#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace runtime {

/// Stops through the platform layer (et_pal_abort). Only for programming errors: bad data returns an Error.
ET_NORETURN void runtime_abort();

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_abort;
}  // namespace executor
}  // namespace torch
