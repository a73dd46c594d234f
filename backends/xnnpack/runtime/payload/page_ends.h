// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * XNNPACK's kernels read up to XNN_EXTRA_BYTES past the end of their inputs, and expect that these bytes are
 * there (xnnpack.h). Memory of an application or a mapped file ends where it ends: behind its last page there may be
 * nothing.
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

/// Whether kernels could read in a page that none of the `size` bytes at `data` lies in.
bool may_leave_page(const void* data, size_t size);

/// Copies of arguments that take the place of these while a delegate runs.
class MovedArguments final {
 public:
  /**
   * Lets `data` point to a copy with padding.
   *
   * @param data `size` bytes, which must outlive the object. An input is copied now, a result in finish().
   * @retval Error::MemoryAllocationFailed (logged) There is no memory for the copy; `data` is unchanged.
   */
  runtime::Error move(void*& data, size_t size, bool is_input);

  /// Copies the results to where they belong.
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
