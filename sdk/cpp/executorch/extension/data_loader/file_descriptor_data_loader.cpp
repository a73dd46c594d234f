// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
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

constexpr std::string_view kScheme = "fd:///";

Result<int> parse_descriptor(const char* uri) {
  const std::string_view text(uri);
  int fd = -1;
  if (text.substr(0, kScheme.size()) == kScheme) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + kScheme.size(), end, fd);
    if (parsed.ec == std::errc() && parsed.ptr == end && fd >= 0) {
      return fd;
    }
  }
  ET_LOG(Error, "expected a URI of the form fd:///<number>, found '%s'", uri);
  return Error::InvalidArgument;
}

}  // namespace

Result<FileDescriptorDataLoader> FileDescriptorDataLoader::fromFileDescriptorUri(const char* file_descriptor_uri,
                                                                                 size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(file_descriptor_uri != nullptr, InvalidArgument,
                           "expected a URI of the form fd:///<number>, found a null pointer");
  const Error alignment_error = internal::check_alignment(alignment);
  if (alignment_error != Error::Ok) {
    return alignment_error;
  }
  const Result<int> fd = parse_descriptor(file_descriptor_uri);
  if (!fd.ok()) {
    return fd.error();
  }
  const Result<size_t> size = internal::descriptor_size(fd.get(), file_descriptor_uri);
  if (!size.ok()) {
    return size.error();
  }
  char* uri = internal::copy_of(file_descriptor_uri);
  ET_CHECK_OR_RETURN_ERROR(uri != nullptr, MemoryAllocationFailed, "out of memory");
  return FileDescriptorDataLoader(fd.get(), size.get(), alignment, uri);
}

FileDescriptorDataLoader::FileDescriptorDataLoader(FileDescriptorDataLoader&& rhs) noexcept
    : uri_(std::exchange(rhs.uri_, nullptr)),
      file_size_(std::exchange(rhs.file_size_, 0)),
      alignment_(rhs.alignment_),
      fd_(std::exchange(rhs.fd_, -1)) {}

FileDescriptorDataLoader::~FileDescriptorDataLoader() {
  std::free(uri_);
  if (fd_ >= 0) {
    internal::close_descriptor(fd_);
  }
}

Result<FreeableBuffer> FileDescriptorDataLoader::load(size_t offset, size_t size,
                                                      const DataLoader::SegmentInfo&) const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  const Error error = internal::check_data_range(offset, size, file_size_, uri_);
  if (error != Error::Ok) {
    return error;
  }
  return internal::read_to_new_buffer(fd_, uri_, offset, size, alignment_);
}

Result<size_t> FileDescriptorDataLoader::size() const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  return file_size_;
}

Error FileDescriptorDataLoader::load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "this loader was moved from");
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_destination(buffer, size, uri_));
  const Error error = internal::check_data_range(offset, size, file_size_, uri_);
  if (error != Error::Ok) {
    return error;
  }
  return internal::read_exactly(fd_, uri_, offset, size, buffer);
}

}  // namespace extension
}  // namespace executorch
