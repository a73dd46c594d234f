// SPDX-License-Identifier: BSD-3-Clause
// Facts that Linux and Android report about processors. `root` is the folder that has `proc` and `sys`: "" for `/`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace extension {
namespace cpuinfo {
namespace internal {

/// How many of the processors with the given numbers are fast ones: all, unless the chip has efficient cores beside
/// others. Efficient are those whose microarchitecture executes in order (/proc/cpuinfo); where that does not tell,
/// those that run at three quarters of the highest frequency or less.
uint32_t count_fast_processors(const int* numbers, size_t count, const char* root);

/// How many processors' time the control groups of this process leave it, rounded up; 0 if they set no limit.
uint32_t processors_of_control_group(const char* root);

}  // namespace internal
}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
