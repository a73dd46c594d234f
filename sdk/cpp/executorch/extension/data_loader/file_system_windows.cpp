// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_system.h>

#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace executorch {
namespace extension {
namespace internal {

namespace {

// Windows functions, unlike the C library's, do not set errno: this translates the errors that can occur.
void set_errno() {
  switch (::GetLastError()) {
    case ERROR_ACCESS_DENIED:
    case ERROR_LOCK_VIOLATION:
    case ERROR_SHARING_VIOLATION:
      errno = EACCES;
      break;
    case ERROR_INVALID_HANDLE:
      errno = EBADF;
      break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_WORKING_SET_QUOTA:
      errno = ENOMEM;
      break;
    case ERROR_INVALID_PARAMETER:
    case ERROR_MAPPED_ALIGNMENT:
      errno = EINVAL;
      break;
    default:
      errno = EIO;
  }
}

HANDLE handle_of(int fd) {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
}

}  // namespace

int open_for_reading(const char* path) {
  const int length = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, nullptr, 0);
  if (length <= 0) {
    errno = EILSEQ;
    return -1;
  }
  auto* const wide = new (std::nothrow) wchar_t[static_cast<size_t>(length)];
  if (wide == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, length);
  const int fd = ::_wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  const int reason = errno;
  delete[] wide;
  errno = reason;
  return fd;
}

void close_descriptor(int fd) {
  (void)::_close(fd);
}

bool read_status(int fd, FileStatus* status) {
  struct _stat64 found;
  if (::_fstat64(fd, &found) != 0) {
    return false;
  }
  const auto kind = found.st_mode & _S_IFMT;
  status->kind = kind == _S_IFREG   ? FileStatus::Kind::File
                 : kind == _S_IFDIR ? FileStatus::Kind::Directory
                                    : FileStatus::Kind::Other;
  status->size = static_cast<uint64_t>(found.st_size);
  return true;
}

ptrdiff_t read_at(int fd, void* destination, size_t size, uint64_t offset) {
  // A synchronous read starts at the position in this structure. It also moves the descriptor's own position, which
  // nothing here uses.
  OVERLAPPED position = {};
  position.Offset = static_cast<DWORD>(offset);
  position.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD count = 0;
  const auto wanted = static_cast<DWORD>(std::min<size_t>(size, size_t{1} << 30));
  if (::ReadFile(handle_of(fd), destination, wanted, &count, &position) == 0) {
    if (::GetLastError() == ERROR_HANDLE_EOF) {
      return 0;
    }
    set_errno();
    return -1;
  }
  return static_cast<ptrdiff_t>(count);
}

size_t mapping_alignment() {
  SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

void* map_file(int fd, uint64_t offset, size_t size) {
  const HANDLE mapping = ::CreateFileMappingW(handle_of(fd), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) {
    set_errno();
    return nullptr;
  }
  void* const address =
      ::MapViewOfFile(mapping, FILE_MAP_READ, static_cast<DWORD>(offset >> 32), static_cast<DWORD>(offset), size);
  if (address == nullptr) {
    set_errno();
  }
  ::CloseHandle(mapping);  // the view keeps the mapping
  return address;
}

bool unmap_file(void* address, size_t) {
  if (::UnmapViewOfFile(address) == 0) {
    set_errno();
    return false;
  }
  return true;
}

bool lock_pages(void* address, size_t size) {
  if (::VirtualLock(address, size) == 0) {
    set_errno();
    return false;
  }
  return true;
}

// Windows reads ahead by itself.
void read_ahead(void*, size_t) {}

char* copy_of(const char* text) {
  const size_t size = std::strlen(text) + 1;
  auto* const copy = static_cast<char*>(std::malloc(size));
  if (copy != nullptr) {
    std::memcpy(copy, text, size);
  }
  return copy;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
