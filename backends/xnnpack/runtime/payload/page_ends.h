// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * XNNPACK's kernels read up to XNN_EXTRA_BYTES past the end of their inputs (xnnpack.h). Where an application's buffer
 * or a mapped file ends close to the end of its last page, such a read may reach an unmapped page and crash. Arguments
 * and constants that end there are copied to memory with padding.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Whether a read of XNN_EXTRA_BYTES past the `size` bytes at `data` could reach a page that holds none of them.
bool may_leave_page(const void* data, size_t size);

/// Padded copies that replace arguments while a delegate runs.
class MovedArguments final {
 public:
  /**
   * Makes `data` point to a copy with padding.
   *
   * @param data `size` bytes, which must outlive the object. An input is copied now, a result in finish().
   * @retval Error::MemoryAllocationFailed (logged) There is no memory for the copy; `data` is unchanged.
   */
  runtime::Error move(void*& data, size_t size, bool is_input);

  /// Copies the results back to the arguments.
  void finish() const;

 private:
  struct Copy {
    std::unique_ptr<uint8_t[]> bytes;
    size_t size;
    void* result;  // null for inputs
  };
  std::vector<Copy> copies_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
