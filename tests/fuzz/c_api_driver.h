// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Takes bytes for a series of calls of the C interface: which function, on which of a few objects (some NULL), with
/// which sizes and numbers. For any bytes, this must return, and all memory must be released by then.
/// @return Number of runs that succeeded.
size_t run_c_api(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
