// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/mmap_data_loader.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <executorch/extension/data_loader/data_range.h>
#include <executorch/extension/data_loader/descriptor_reader.h>
#include <executorch/extension/data_loader/file_system.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

// Up to this size, reading is faster than mapping, touching and unmapping pages.
constexpr size_t kFewBytes = size_t{16} << 10;

// A mapping starts at a page boundary; the data inside it need not. Unmapping also drops the lock.
void unmap(void* context, void* data, size_t size) {
  const auto page_size = static_cast<uintptr_t>(reinterpret_cast<uintptr_t>(context));
  const uintptr_t lead = reinterpret_cast<uintptr_t>(data) & (page_size - 1);
  if (!internal::unmap_file(static_cast<uint8_t*>(data) - lead, size + lead)) {
    ET_LOG(Error, "unmapping %zu bytes at %p failed: %s (ignored)", size, data, std::strerror(errno));
  }
}

}  // namespace

Result<MmapDataLoader> MmapDataLoader::from(const char* file_name, MlockConfig mlock_config) {
  ET_CHECK_OR_RETURN_ERROR(file_name != nullptr, InvalidArgument, "expected a file name, found a null pointer");
  const size_t page_size = internal::mapping_alignment();
  ET_CHECK_OR_RETURN_ERROR(page_size > 0, AccessFailed, "the page size is not known: %s", std::strerror(errno));
  const int fd = internal::open_for_reading(file_name);
  ET_CHECK_OR_RETURN_ERROR(fd >= 0, AccessFailed, "%s: cannot be opened: %s", file_name, std::strerror(errno));
  const Result<size_t> size = internal::descriptor_size(fd, file_name);
  char* name = size.ok() ? internal::copy_of(file_name) : nullptr;
  if (name == nullptr) {
    internal::close_descriptor(fd);
    return size.ok() ? Error::MemoryAllocationFailed : size.error();
  }
  return MmapDataLoader(fd, size.get(), page_size, mlock_config, name);
}

MmapDataLoader::MmapDataLoader(MmapDataLoader&& rhs) noexcept
    : file_name_(std::exchange(rhs.file_name_, nullptr)),
      file_size_(std::exchange(rhs.file_size_, 0)),
      page_size_(rhs.page_size_),
      fd_(std::exchange(rhs.fd_, -1)),
      mlock_config_(rhs.mlock_config_) {}

MmapDataLoader::~MmapDataLoader() {
  std::free(file_name_);
  if (fd_ >= 0) {
    internal::close_descriptor(fd_);
  }
}

Result<FreeableBuffer> MmapDataLoader::load(size_t offset, size_t size, const DataLoader::SegmentInfo&) const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  const Error error = internal::check_data_range(offset, size, file_size_, file_name_);
  if (error != Error::Ok) {
    return error;
  }
  if (size == 0) {
    return FreeableBuffer(nullptr, 0, nullptr);
  }
  if (size <= kFewBytes && (mlock_config_ == MlockConfig::NoMlock || mlock_config_ == MlockConfig::UseMadvise)) {
    const size_t alignment = (offset | page_size_) & (~(offset | page_size_) + 1);  // the lowest bit
    return internal::read_to_new_buffer(fd_, file_name_, offset, size, alignment);
  }
  const size_t lead = offset & (page_size_ - 1);
  const size_t map_size = size + lead;
  void* pages = internal::map_file(fd_, offset - lead, map_size);
  ET_CHECK_OR_RETURN_ERROR(pages != nullptr, AccessFailed, "%s: mapping %zu bytes at offset %zu failed: %s", file_name_,
                           map_size, offset - lead, std::strerror(errno));
  FreeableBuffer buffer(static_cast<uint8_t*>(pages) + lead, size, unmap, reinterpret_cast<void*>(page_size_));
  if (mlock_config_ == MlockConfig::UseMadvise) {
    internal::read_ahead(pages, map_size);
  } else if (mlock_config_ != MlockConfig::NoMlock && !internal::lock_pages(pages, map_size)) {
    ET_CHECK_OR_RETURN_ERROR(
        mlock_config_ == MlockConfig::UseMlockIgnoreErrors, NotSupported,
        "%s: locking %zu bytes at offset %zu in memory failed: %s; raise the limit (ulimit -l) or load without mlock",
        file_name_, map_size, offset - lead, std::strerror(errno));
    ET_LOG(Debug, "%s: locking %zu bytes failed: %s (ignored)", file_name_, map_size, std::strerror(errno));
  }
  return buffer;
}

Result<size_t> MmapDataLoader::size() const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  return file_size_;
}

Error MmapDataLoader::load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_destination(buffer, size, file_name_));
  const Error error = internal::check_data_range(offset, size, file_size_, file_name_);
  if (error != Error::Ok) {
    return error;
  }
  return internal::read_exactly(fd_, file_name_, offset, size, buffer);
}

}  // namespace extension
}  // namespace executorch
