// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Looks for the headers of a `.pte` and of a `.ptd` in `size` bytes. Their fields must be consistent.
void run_headers(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
