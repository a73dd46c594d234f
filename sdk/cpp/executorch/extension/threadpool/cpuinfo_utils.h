// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace cpuinfo {

/// The number of threads for heavy work: the processors that this process may use, without the slow cores of a chip
/// with fast and slow ones, limited by the CPU quota of its control groups (Linux). At least 1. If the
/// system reports neither microarchitectures nor speeds, all processors count as fast.
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
