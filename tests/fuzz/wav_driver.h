// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Reads the bytes as a WAV file, in each of the ways that the runner has: Executed if there is sound. Aborts if
/// their results differ, if there are more samples than bytes, or as run_in_small_process() does.
Outcome run_wav(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
