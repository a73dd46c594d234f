// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_system.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace executorch {
namespace extension {
namespace internal {

int open_for_reading(const char* path) {
  // Opening a FIFO waits for a writer without O_NONBLOCK, which has no effect on files.
  return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void close_descriptor(int fd) {
  (void)::close(fd);
}

bool read_status(int fd, FileStatus* status) {
  struct stat found;
  if (::fstat(fd, &found) != 0) {
    return false;
  }
  status->kind = S_ISREG(found.st_mode)   ? FileStatus::Kind::File
                 : S_ISDIR(found.st_mode) ? FileStatus::Kind::Directory
                                          : FileStatus::Kind::Other;
  status->size = static_cast<uint64_t>(found.st_size);
  return true;
}

ptrdiff_t read_at(int fd, void* destination, size_t size, uint64_t offset) {
  return ::pread(fd, destination, size, static_cast<off_t>(offset));
}

size_t mapping_alignment() {
  const long size = ::sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<size_t>(size) : 0;
}

void* map_file(int fd, uint64_t offset, size_t size) {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset));
  return address == MAP_FAILED ? nullptr : address;
}

bool unmap_file(void* address, size_t size) {
  return ::munmap(address, size) == 0;
}

bool lock_pages(void* address, size_t size) {
  return ::mlock(address, size) == 0;
}

void read_ahead(void* address, size_t size) {
  (void)::madvise(address, size, MADV_WILLNEED);
}

char* copy_of(const char* text) {
  return ::strdup(text);
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
