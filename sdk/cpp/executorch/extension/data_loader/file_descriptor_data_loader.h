// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {

/// Loads segments of an already open file, named by a URI of the form `fd:///<number>`, by reading them into newly
/// allocated memory. For systems that provide descriptors instead of paths, such as Android's content providers.
/// Takes ownership of the descriptor: the destructor closes it. Thread safe after construction.
class FileDescriptorDataLoader final : public runtime::DataLoader {
 public:
  /// Loaded segments start at a multiple of `alignment` bytes, a power of two. InvalidArgument for a bad argument;
  /// AccessFailed if the descriptor is not an open regular file (it is not closed then).
  ET_NODISCARD static runtime::Result<FileDescriptorDataLoader> fromFileDescriptorUri(
      const char* file_descriptor_uri, size_t alignment = alignof(std::max_align_t));

  FileDescriptorDataLoader(FileDescriptorDataLoader&& rhs) noexcept;
  ~FileDescriptorDataLoader() override;

  /// Reads [offset, offset + size) into a new buffer, which frees itself.
  /// InvalidArgument if the range does not fit, AccessFailed if the file cannot be read.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const DataLoader::SegmentInfo& segment_info) const override;

  /// Size of the file in bytes when the loader was made.
  ET_NODISCARD runtime::Result<size_t> size() const override;

  /// Reads [offset, offset + size) into `buffer`.
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, ET_UNUSED const SegmentInfo& segment_info,
                                        void* buffer) const override;

 private:
  FileDescriptorDataLoader(int fd, size_t file_size, size_t alignment, char* uri)
      : uri_(uri), file_size_(file_size), alignment_(alignment), fd_(fd) {}

  FileDescriptorDataLoader(const FileDescriptorDataLoader&) = delete;
  FileDescriptorDataLoader& operator=(const FileDescriptorDataLoader&) = delete;
  FileDescriptorDataLoader& operator=(FileDescriptorDataLoader&&) = delete;

  char* uri_;  // owned
  size_t file_size_;
  size_t alignment_;
  int fd_;  // owned
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::FileDescriptorDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
