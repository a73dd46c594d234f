// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/memory_loader.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include <executorch/extension/module/planned_buffers.h>
#include <executorch/runtime/platform/log.h>

#if !defined(_WIN32)
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace executorch {
namespace extension {
namespace c_api {

using runtime::DataLoader;
using runtime::Error;
using runtime::Result;

namespace {

/// The alignment that Program::load() requires of memory it reads in place.
constexpr size_t kProgramAlignment = 16;

bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kProgramAlignment == 0;
}

/// Aligned memory that `fill` writes.
template <typename Fill>
Result<std::shared_ptr<const void>> new_memory(size_t size, Fill&& fill) {
  auto buffer = std::make_shared<internal::ZeroedBuffer>(size);
  ET_CHECK_OR_RETURN_ERROR(buffer->data() != nullptr || size == 0, MemoryAllocationFailed,
                           "%zu bytes for a program could not be allocated", size);
  ET_CHECK_OK_OR_RETURN_ERROR(fill(buffer->data()));
  const void* const data = buffer->data();
  return std::shared_ptr<const void>(std::move(buffer), data);
}

Result<std::unique_ptr<DataLoader>> loader_of(Result<std::shared_ptr<const void>> memory, size_t size) {
  if (!memory.ok()) {
    return memory.error();
  }
  return std::unique_ptr<DataLoader>(std::make_unique<MemoryLoader>(std::move(memory.get()), size));
}

}  // namespace

Result<std::shared_ptr<const void>> aligned_memory(Release borrowed, size_t size) {
  const void* const data = borrowed.data();
  if (!is_aligned(data)) {
    return new_memory(size, [&](uint8_t* to) {
      std::memcpy(to, data, size);
      return Error::Ok;
    });
  }
  auto owner = std::make_shared<Release>(std::move(borrowed));
  return std::shared_ptr<const void>(std::move(owner), data);
}

Result<std::unique_ptr<DataLoader>> load_from_memory(Release borrowed, size_t size) {
  return loader_of(aligned_memory(std::move(borrowed), size), size);
}

#if defined(_WIN32)

Result<std::unique_ptr<DataLoader>> load_from_descriptor(int, uint64_t, uint64_t, bool) {
  ET_LOG(Error, "this system has no file descriptors of POSIX: load from a path or from memory");
  return Error::NotSupported;
}

#else

namespace {

Error read_all(int fd, uint8_t* to, size_t size, off_t offset) {
  while (size > 0) {
    const ssize_t count = ::pread(fd, to, size, offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(count > 0, AccessFailed, "descriptor %d could not be read: %s", fd,
                             count < 0 ? std::strerror(errno) : "the file has become shorter");
    to += count;
    size -= static_cast<size_t>(count);
    offset += count;
  }
  return Error::Ok;
}

}  // namespace

Result<std::unique_ptr<DataLoader>> load_from_descriptor(int fd, uint64_t offset, uint64_t length, bool map) {
  struct stat info = {};
  ET_CHECK_OR_RETURN_ERROR(::fstat(fd, &info) == 0, AccessFailed, "descriptor %d cannot be used: %s", fd,
                           std::strerror(errno));
  ET_CHECK_OR_RETURN_ERROR(S_ISREG(info.st_mode), AccessFailed, "descriptor %d is not of a regular file", fd);
  const auto file_size = static_cast<uint64_t>(info.st_size);
  ET_CHECK_OR_RETURN_ERROR(
      offset <= file_size && length <= file_size - offset && file_size <= SIZE_MAX, InvalidArgument,
      "expected a range inside the file's %" PRIu64 " bytes, found %" PRIu64 " at %" PRIu64, file_size, length, offset);
  const auto size = static_cast<size_t>(length != 0 ? length : file_size - offset);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (map && size > 0 && offset % kProgramAlignment == 0) {
    const auto before = static_cast<size_t>(offset % page);
    void* const start = ::mmap(nullptr, before + size, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset - before));
    ET_CHECK_OR_RETURN_ERROR(start != MAP_FAILED, AccessFailed, "descriptor %d could not be mapped: %s", fd,
                             std::strerror(errno));
    // A shared_ptr that cannot be made calls the deleter: nothing leaks.
    const std::shared_ptr<void> mapping(start, [bytes = before + size](void* p) { ::munmap(p, bytes); });
    return loader_of(std::shared_ptr<const void>(mapping, static_cast<uint8_t*>(start) + before), size);
  }
  const auto fill = [&](uint8_t* to) { return read_all(fd, to, size, static_cast<off_t>(offset)); };
  return loader_of(new_memory(size, fill), size);
}

#endif

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
