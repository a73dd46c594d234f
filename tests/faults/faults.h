// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// Makes one allocation or one read of the process fail. The linker redirects malloc and its kind, pread and mmap to
/// faults.cpp (--wrap), which also replaces the operators new and delete; allocators and loaders of a test call due().
/// Only operations of the thread that armed the fault fail.
namespace faults {

enum class Kind {
  kAllocation,  ///< gives null, or std::bad_alloc from a throwing operator new
  kRead,        ///< fails
  kShortRead,   ///< returns fewer bytes than requested
};

/// Makes one of the operations of that kind fail that follow this call: number `n`, counted from 0.
void arm(Kind kind, size_t n);

/// Lets all operations succeed again. Returns whether the operation occurred and failed.
bool disarm();

/// Counts an operation of that kind. Returns whether it has to fail.
bool due(Kind kind);

/// Heap blocks that this process has allocated and not freed, as far as faults.cpp sees them.
long live_blocks();

}  // namespace faults
