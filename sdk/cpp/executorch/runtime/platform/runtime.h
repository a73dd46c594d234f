// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace runtime {

/// Initialises the platform layer. Call it once before anything else of the runtime; further calls do no harm.
void runtime_init();

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_init;
}  // namespace executor
}  // namespace torch
