// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * For data loaders of applications, which include this header of ExecuTorch: the size of a page, the size of a file,
 * and advice on mapped pages. On POSIX systems it also includes the header of mmap().
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/stat.h>

#include <executorch/runtime/platform/compiler.h>

#ifndef _WIN32

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/// The size of a page in bytes.
ET_INLINE size_t get_os_page_size() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

/// Stores the size of an open file, in bytes, in `out_size`. Returns a negative number, with the reason in errno, on
/// failure.
ET_INLINE int get_file_stat(int fd, size_t* out_size) {
  struct stat found;
  const int result = ::fstat(fd, &found);
  if (result >= 0) {
    *out_size = static_cast<size_t>(found.st_size);
  }
  return result;
}

/// Converts an offset to the type that mmap() takes.
ET_INLINE off_t get_mmap_offset(size_t offset) {
  return static_cast<off_t>(offset);
}

/// Asks the system to read mapped pages ahead, in order.
ET_INLINE void madvise_pages_willneed_sequential(void* addr, size_t len) {
  (void)::madvise(addr, len, MADV_WILLNEED);
  (void)::madvise(addr, len, MADV_SEQUENTIAL);
}

/// On Apple's systems, asks for the first `file_size` bytes of a file to be read ahead.
ET_INLINE void fcntl_rdadvise_apple(int fd, size_t file_size) {
#ifdef __APPLE__
  struct radvisory advice;
  advice.ra_offset = 0;
  advice.ra_count = static_cast<int>(file_size);
  (void)::fcntl(fd, F_RDADVISE, &advice);
#else
  (void)fd;
  (void)file_size;
#endif
}

#else

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <io.h>

/// The granularity of mappings in bytes: a view of a file begins at a multiple of it.
ET_INLINE long get_os_page_size() {
  SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  return static_cast<long>(info.dwAllocationGranularity > info.dwPageSize ? info.dwAllocationGranularity
                                                                          : info.dwPageSize);
}

ET_INLINE int get_file_stat(int fd, size_t* out_size) {
  struct _stat64 found;
  const int result = ::_fstat64(fd, &found);
  if (result >= 0) {
    *out_size = static_cast<size_t>(found.st_size);
  }
  return result;
}

ET_INLINE uint64_t get_mmap_offset(size_t offset) {
  return static_cast<uint64_t>(offset);
}

ET_INLINE void madvise_pages_willneed_sequential(void*, size_t) {}
ET_INLINE void fcntl_rdadvise_apple(int, size_t) {}

#endif
