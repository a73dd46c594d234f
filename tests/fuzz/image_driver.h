// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Three bytes for the size and the channels of a picture, then what a program's method `get_image_processor` returns:
/// Executed if it makes something of the picture. Aborts if the pictures that it makes have different sizes, if the
/// text lacks a place for one of them, or as run_in_small_process() does.
Outcome run_image(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
