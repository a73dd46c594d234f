// SPDX-License-Identifier: BSD-3-Clause
// Facts that Linux and Android report about processors. `root` is the folder that has `proc` and `sys`: "" for `/`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace extension {
namespace cpuinfo {
namespace internal {

/// Counts the fast processors among the given ones: all of them, unless the chip has efficient and fast cores. A core
/// is efficient if its microarchitecture executes in order (/proc/cpuinfo), or, where that is unknown, if its frequency
/// is at most three quarters of the highest one.
uint32_t count_fast_processors(const int* numbers, size_t count, const char* root);

/// The number of processors that the control groups of this process allow, rounded up; 0 if they set no limit.
uint32_t processors_of_control_group(const char* root);

}  // namespace internal
}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
