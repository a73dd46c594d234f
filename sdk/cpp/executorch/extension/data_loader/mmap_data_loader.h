// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {

/// Loads segments of a file by mapping it read-only: nothing is copied, pages are read when first touched and shared
/// between processes. Segments of at most 16 KB are read, which is faster, unless they are to be locked. Thread safe
/// after construction. The file must not be truncated while a segment is in use (accessing a missing page ends the
/// process with SIGBUS); replace a model file by renaming a new file to its name.
class MmapDataLoader final : public runtime::DataLoader {
 public:
  /// How the system treats mapped pages.
  enum class MlockConfig {
    NoMlock,               ///< Pages are read on first use and may be dropped again.
    UseMlock,              ///< Lock the pages; loading fails with NotSupported if the system refuses (RLIMIT_MEMLOCK).
    UseMlockIgnoreErrors,  ///< Lock the pages if the system permits it.
    UseMadvise,            ///< Ask the system to start reading ahead; never fails.
  };

  /// Opens `file_name`. AccessFailed if it cannot be opened or is not a regular file; InvalidArgument if it is null.
  ET_NODISCARD static runtime::Result<MmapDataLoader> from(const char* file_name,
                                                           MlockConfig mlock_config = MlockConfig::UseMlock);

  ET_DEPRECATED ET_NODISCARD static runtime::Result<MmapDataLoader> From(
      const char* file_name, MlockConfig mlock_config = MlockConfig::UseMlock) {
    return from(file_name, mlock_config);
  }

  ET_DEPRECATED ET_NODISCARD static runtime::Result<MmapDataLoader> From(const char* file_name, bool use_mlock) {
    return from(file_name, use_mlock ? MlockConfig::UseMlock : MlockConfig::NoMlock);
  }

  MmapDataLoader(MmapDataLoader&& rhs) noexcept;
  ~MmapDataLoader() override;

  /// Maps [offset, offset + size), or reads it if it is small; the returned buffer unmaps or frees it. The data has the
  /// alignment of its offset in the file, up to a page. InvalidArgument if the range does not fit, AccessFailed if
  /// mapping fails.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const DataLoader::SegmentInfo& segment_info) const override;

  /// Size of the file in bytes when it was opened.
  ET_NODISCARD runtime::Result<size_t> size() const override;

  /// Copies [offset, offset + size) to `buffer`.
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, ET_UNUSED const SegmentInfo& segment_info,
                                        void* buffer) const override;

 private:
  MmapDataLoader(int fd, size_t file_size, size_t page_size, MlockConfig mlock_config, char* file_name)
      : file_name_(file_name), file_size_(file_size), page_size_(page_size), fd_(fd), mlock_config_(mlock_config) {}

  MmapDataLoader(const MmapDataLoader&) = delete;
  MmapDataLoader& operator=(const MmapDataLoader&) = delete;
  MmapDataLoader& operator=(MmapDataLoader&&) = delete;

  char* file_name_;  // owned
  size_t file_size_;
  size_t page_size_;
  int fd_;  // owned
  MlockConfig mlock_config_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::MmapDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
