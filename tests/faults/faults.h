// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// Makes one allocation or one read of the process fail. The linker redirects malloc and its kind, pread and mmap to
/// faults.cpp (--wrap), which also replaces the operators new and delete; allocators and loaders of a test ask due().
/// Only the thread that armed a fault meets it.
namespace faults {

enum class Kind {
  kAllocation,  ///< gives null, or std::bad_alloc from a throwing operator new
  kRead,        ///< fails
  kShortRead,   ///< gives fewer bytes than asked for
};

/// From now on operation number `n` of that kind, from 0, fails; only that one.
void arm(Kind kind, size_t n);

/// Back to normal. Whether the operation came and failed.
bool disarm();

/// Counts an operation of that kind. Whether it has to fail.
bool due(Kind kind);

/// Blocks of the heap that this process has taken and not given back, as far as faults.cpp sees it.
long live_blocks();

}  // namespace faults
