// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace internal {

/// Checks, without overflow, that bytes [offset, offset + size) lie inside a source of `total` bytes.
/// `source` names it in the log line. Returns InvalidArgument when the range does not fit.
inline runtime::Error check_data_range(size_t offset, size_t size, size_t total, const char* source) {
  ET_CHECK_OR_RETURN_ERROR(offset <= total && size <= total - offset, InvalidArgument,
                           "%s: bytes [%zu, %zu + %zu) were requested, but it holds %zu; it may be truncated", source,
                           offset, offset, size, total);
  return runtime::Error::Ok;
}

/// Checks the destination of `size` bytes of `source`. Returns InvalidArgument for a null pointer, unless `size` is 0.
inline runtime::Error check_destination(const void* buffer, size_t size, const char* source) {
  ET_CHECK_OR_RETURN_ERROR(buffer != nullptr || size == 0, InvalidArgument,
                           "%s: expected a destination for %zu bytes, found a null pointer", source, size);
  return runtime::Error::Ok;
}

/// check_data_range() for a source of `total` bytes in memory at `data`.
inline runtime::Error check_memory_range(const void* data, size_t offset, size_t size, size_t total,
                                         const char* source) {
  ET_CHECK_OR_RETURN_ERROR(data != nullptr || size == 0, InvalidArgument,
                           "%s: %zu bytes were requested, but its data is a null pointer", source, size);
  return check_data_range(offset, size, total, source);
}

/// Copies bytes [offset, offset + size) of a source of `total` bytes in memory at `data` to `buffer`.
inline runtime::Error copy_memory_range(const void* data, size_t offset, size_t size, size_t total, const char* source,
                                        void* buffer) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_memory_range(data, offset, size, total, source));
  ET_CHECK_OK_OR_RETURN_ERROR(check_destination(buffer, size, source));
  if (size > 0) {
    std::memcpy(buffer, static_cast<const uint8_t*>(data) + offset, size);
  }
  return runtime::Error::Ok;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
