// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Treats three bytes as the size and the channels of a picture, the others as the result of a program's method
/// `get_image_processor`. Executed if the picture can be converted. Aborts if the resulting pictures have different
/// sizes, if the text has no placeholder for them, or as run_in_small_process() does.
Outcome run_image(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
