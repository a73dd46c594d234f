// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Runs the programs of the demo backends in sdk/exir/backend/test. Linking the library `demo_backends` registers
 * them before main(); a program that registers its backends itself links `demo_backends_static` and calls the function.
 */
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>

namespace executorch {
namespace runtime {
namespace testing {

/// Computes add, linear, mm, mul, scaled dot product attention, sin and nearest upsampling from a text payload.
BackendInterface& backend_with_compiler_demo();

/// Runs a payload that is a program of this runtime.
BackendInterface& executor_backend();

/// Computes nothing: logs an event of the delegate for each instruction of its payload, by the number or the name in
/// the program's debug handle map.
BackendInterface& backend_with_delegate_mapping_demo();

/// Registers them under the names of their Python classes; the first error that register_backend() returns.
Error register_demo_backends();

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
