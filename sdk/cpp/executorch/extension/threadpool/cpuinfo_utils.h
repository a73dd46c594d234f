// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace cpuinfo {

/// How many threads make heavy work fastest: the processors that this process may use, without the slow ones of a chip
/// that has fast and slow ones. At least 1. Where the system does not tell the speeds, all processors count as fast.
uint32_t get_num_performant_cores();

}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace cpuinfo {
using ::executorch::extension::cpuinfo::get_num_performant_cores;
}  // namespace cpuinfo
}  // namespace executorch
}  // namespace torch
