// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace internal {

/// Size in bytes of the regular file behind `fd`. AccessFailed (with the name and the system's reason) for anything
/// that has no fixed size: a directory, a pipe, a closed descriptor.
runtime::Result<size_t> descriptor_size(int fd, const char* name);

/// Reads exactly `size` bytes at `offset` into `destination`, independent of the descriptor's position: several threads
/// may read at once. AccessFailed if the file ends early or the system refuses.
runtime::Error read_exactly(int fd, const char* name, size_t offset, size_t size, void* destination);

/// Like `read_exactly`, into newly allocated memory aligned to `alignment` (a power of two), which the returned buffer
/// owns. MemoryAllocationFailed if the allocation fails.
runtime::Result<runtime::FreeableBuffer> read_to_new_buffer(int fd, const char* name, size_t offset, size_t size,
                                                            size_t alignment);

/// InvalidArgument unless `alignment` is a power of two.
runtime::Error check_alignment(size_t alignment);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
