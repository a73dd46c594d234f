// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Reading and mapping files: the functions of the operating system that the data loaders use. file_system_posix.cpp and
 * file_system_windows.cpp implement it.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace extension {
namespace internal {

/// Opens a file for reading. `path` is UTF-8. Returns a descriptor, which child processes do not inherit, or -1 with
/// the reason in errno.
int open_for_reading(const char* path);

void close_descriptor(int fd);

/// The file that a descriptor refers to.
struct FileStatus {
  enum class Kind { File, Directory, Other };
  Kind kind;
  uint64_t size;  ///< Size in bytes.
};

/// False with the reason in errno if the descriptor is not open.
bool read_status(int fd, FileStatus* status);

/// Reads at most `size` bytes at `offset`, independent of the descriptor's position: several threads may read at once.
/// Returns how many bytes were read, 0 at the end of the file, or -1 with the reason in errno.
ptrdiff_t read_at(int fd, void* destination, size_t size, uint64_t offset);

/// The granularity of mappings in bytes: the offset and the address of a mapping are multiples of it. 0, with the
/// reason in errno, if it is unknown.
size_t mapping_alignment();

/// Maps `size` bytes at `offset`, a multiple of mapping_alignment(), read-only. Null with the reason in errno on
/// failure.
void* map_file(int fd, uint64_t offset, size_t size);

/// Removes a mapping, and its lock if it is locked. Returns false, with the reason in errno, on failure.
bool unmap_file(void* address, size_t size);

/// Keeps the pages of a mapping in memory. False with the reason in errno on failure.
bool lock_pages(void* address, size_t size);

/// Advises the system to read the pages of a mapping ahead.
void read_ahead(void* address, size_t size);

/// A copy of a text, for std::free. Null if memory is exhausted.
char* copy_of(const char* text);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
