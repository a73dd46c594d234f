// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_data_loader.h>

#include <cerrno>
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

Result<FileDataLoader> FileDataLoader::from(const char* file_name, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(file_name != nullptr, InvalidArgument, "expected a file name, found a null pointer");
  const Error alignment_error = internal::check_alignment(alignment);
  if (alignment_error != Error::Ok) {
    return alignment_error;
  }
  const int fd = internal::open_for_reading(file_name);
  ET_CHECK_OR_RETURN_ERROR(fd >= 0, AccessFailed, "%s: cannot be opened: %s", file_name, std::strerror(errno));
  const Result<size_t> size = internal::descriptor_size(fd, file_name);
  char* name = size.ok() ? internal::copy_of(file_name) : nullptr;
  if (name == nullptr) {
    internal::close_descriptor(fd);
    return size.ok() ? Error::MemoryAllocationFailed : size.error();
  }
  return FileDataLoader(fd, size.get(), alignment, name);
}

FileDataLoader::FileDataLoader(FileDataLoader&& rhs) noexcept
    : file_name_(std::exchange(rhs.file_name_, nullptr)),
      file_size_(std::exchange(rhs.file_size_, 0)),
      alignment_(rhs.alignment_),
      fd_(std::exchange(rhs.fd_, -1)) {}

FileDataLoader::~FileDataLoader() {
  std::free(file_name_);
  if (fd_ >= 0) {
    internal::close_descriptor(fd_);
  }
}

Result<FreeableBuffer> FileDataLoader::load(size_t offset, size_t size, const DataLoader::SegmentInfo&) const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  const Error error = internal::check_data_range(offset, size, file_size_, file_name_);
  if (error != Error::Ok) {
    return error;
  }
  return internal::read_to_new_buffer(fd_, file_name_, offset, size, alignment_);
}

Result<size_t> FileDataLoader::size() const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  return file_size_;
}

Error FileDataLoader::load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const {
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
