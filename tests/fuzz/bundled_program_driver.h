// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Treats `size` bytes as a `.bpte`: verifies them and, if they are sound, reads every value of every test case and
/// runs the program inside as run_program() does. Loaded means that at least the bundle is sound.
Outcome run_bundled_program(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
