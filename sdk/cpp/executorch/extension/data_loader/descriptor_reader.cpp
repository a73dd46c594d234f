// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/descriptor_reader.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include <executorch/extension/data_loader/file_system.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

// The context pointer holds the alignment, which the matching operator delete needs.
void free_aligned(void* context, void* data, size_t) {
  ::operator delete(data, std::align_val_t(reinterpret_cast<uintptr_t>(context)));
}

}  // namespace

Error check_alignment(size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "alignment must be a power of two, found %zu", alignment);
  return Error::Ok;
}

Result<size_t> descriptor_size(int fd, const char* name) {
  FileStatus status;
  ET_CHECK_OR_RETURN_ERROR(read_status(fd, &status), AccessFailed, "%s: its size cannot be read: %s", name,
                           std::strerror(errno));
  ET_CHECK_OR_RETURN_ERROR(
      status.kind == FileStatus::Kind::File, AccessFailed, "%s: expected a file, found %s", name,
      status.kind == FileStatus::Kind::Directory ? "a directory" : "something that is not a regular file");
  ET_CHECK_OR_RETURN_ERROR(status.size <= std::numeric_limits<size_t>::max(), AccessFailed,
                           "%s: it has %" PRIu64 " bytes, more than this process can address", name, status.size);
  return static_cast<size_t>(status.size);
}

Error read_exactly(int fd, const char* name, size_t offset, size_t size, void* destination) {
  // Upper bound of one read() call in bytes. Larger counts are implementation-defined, and some systems refuse them.
  constexpr size_t kMaxChunk = size_t{1} << 30;
  auto* out = static_cast<uint8_t*>(destination);
  size_t done = 0;
  while (done < size) {
    const size_t chunk = std::min(size - done, kMaxChunk);
    const ptrdiff_t count = read_at(fd, out + done, chunk, offset + done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(count >= 0, AccessFailed, "%s: reading %zu bytes at offset %zu failed: %s", name, chunk,
                             offset + done, std::strerror(errno));
    ET_CHECK_OR_RETURN_ERROR(count > 0, AccessFailed,
                             "%s: the file ended at offset %zu, %zu bytes before the end of the read; it was made "
                             "shorter after it was opened",
                             name, offset + done, size - done);
    done += static_cast<size_t>(count);
  }
  return Error::Ok;
}

Result<FreeableBuffer> read_to_new_buffer(int fd, const char* name, size_t offset, size_t size, size_t alignment) {
  if (size == 0) {
    return FreeableBuffer(nullptr, 0, nullptr);
  }
  void* data = ::operator new(size, std::align_val_t(alignment), std::nothrow);
  ET_CHECK_OR_RETURN_ERROR(data != nullptr, MemoryAllocationFailed, "%s: %zu bytes could not be allocated for its data",
                           name, size);
  FreeableBuffer buffer(data, size, free_aligned, reinterpret_cast<void*>(alignment));
  const Error error = read_exactly(fd, name, offset, size, data);
  if (error != Error::Ok) {
    return error;
  }
  return buffer;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
