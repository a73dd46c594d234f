// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace internal {

/// Checks in 64-bit arithmetic that bytes [offset, offset + size) lie inside a source of `total` bytes.
/// `source` names it in the log line. Returns InvalidArgument when the range does not fit.
inline runtime::Error check_data_range(size_t offset, size_t size, size_t total, const char* source) {
  ET_CHECK_OR_RETURN_ERROR(offset <= total && size <= total - offset, InvalidArgument,
                           "%s: bytes [%zu, %zu + %zu) were asked for, but it holds %zu; it may be truncated", source,
                           offset, offset, size, total);
  return runtime::Error::Ok;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
