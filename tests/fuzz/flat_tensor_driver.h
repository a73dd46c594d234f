// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Treats `size` bytes as a `.ptd`: loads it and, if it loads, reads the layout and all bytes of every key. Executed
/// means that every key could be read.
Outcome run_flat_tensor(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
