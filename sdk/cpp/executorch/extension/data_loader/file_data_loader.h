// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {

/// Loads segments of a file by reading them into newly allocated memory. Thread safe after construction.
class FileDataLoader final : public runtime::DataLoader {
 public:
  /// Opens `file_name`. Loaded segments start at a multiple of `alignment` bytes, a power of two.
  /// AccessFailed if the file cannot be opened or is not a regular file; InvalidArgument for a bad argument.
  ET_NODISCARD static runtime::Result<FileDataLoader> from(const char* file_name,
                                                           size_t alignment = alignof(std::max_align_t));

  ET_DEPRECATED ET_NODISCARD static runtime::Result<FileDataLoader> From(const char* file_name,
                                                                         size_t alignment = alignof(std::max_align_t)) {
    return from(file_name, alignment);
  }

  FileDataLoader(FileDataLoader&& rhs) noexcept;
  ~FileDataLoader() override;

  /// Reads [offset, offset + size) into a new buffer, which frees itself.
  /// InvalidArgument if the range does not fit, AccessFailed if the file cannot be read.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const DataLoader::SegmentInfo& segment_info) const override;

  /// Size of the file in bytes when it was opened.
  ET_NODISCARD runtime::Result<size_t> size() const override;

  /// Reads [offset, offset + size) into `buffer`.
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, ET_UNUSED const SegmentInfo& segment_info,
                                        void* buffer) const override;

 private:
  FileDataLoader(int fd, size_t file_size, size_t alignment, char* file_name)
      : file_name_(file_name), file_size_(file_size), alignment_(alignment), fd_(fd) {}

  FileDataLoader(const FileDataLoader&) = delete;
  FileDataLoader& operator=(const FileDataLoader&) = delete;
  FileDataLoader& operator=(FileDataLoader&&) = delete;

  char* file_name_;  // owned
  size_t file_size_;
  size_t alignment_;
  int fd_;  // owned
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::FileDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
