// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <limits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace utils {

/// Bytes to take from malloc so that `size` bytes aligned to `alignment` (a power of two) fit into them.
/// InvalidArgument if the alignment is not a power of two or the sum overflows.
inline runtime::Result<size_t> get_aligned_size(size_t size, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "alignment must be a power of two, found %zu", alignment);
  // malloc's own alignment is enough for small ones.
  const size_t slack = alignment > alignof(std::max_align_t) ? alignment : 0;
  ET_CHECK_OR_RETURN_ERROR(size <= std::numeric_limits<size_t>::max() - slack, InvalidArgument,
                           "%zu bytes aligned to %zu do not fit into memory", size, alignment);
  return size + slack;
}

}  // namespace utils
}  // namespace extension
}  // namespace executorch
