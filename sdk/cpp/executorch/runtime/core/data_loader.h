// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/**
 * Loads ranges of a data source: a file, a mapped file, a buffer in memory, a flash chip. Implementations are in
 * extension/data_loader; embedded systems write their own.
 *
 * The methods may be called from several threads at once.
 */
class DataLoader {
 public:
  /// What a range holds, so that a loader can choose where and how to load it.
  struct SegmentInfo {
    enum class Type {
      Program,   ///< The program's metadata.
      Constant,  ///< Constant tensors.
      Backend,   ///< Data of a backend.
      Mutable,   ///< Initial values of mutable tensors.
      External,  ///< Data of an external data file.
    };

    Type segment_type;
    /// Index among all segments of the file; not meaningful for Program.
    size_t segment_index;
    /// Details for humans or for the loader, such as the backend's name; null when there are none. Valid during the
    /// call.
    const char* descriptor;

    SegmentInfo() = default;
    explicit SegmentInfo(Type segment_type_, size_t segment_index_ = 0, const char* descriptor_ = nullptr)
        : segment_type(segment_type_), segment_index(segment_index_), descriptor(descriptor_) {}
  };

  virtual ~DataLoader() = default;

  /**
   * Loads `size` bytes from byte `offset`. The buffer stays valid after the loader ends only if the implementation says
   * so.
   *
   * @return Exactly `size` bytes, or an error when the range is not inside the source or cannot be read.
   */
  ET_NODISCARD virtual Result<FreeableBuffer> load(size_t offset, size_t size,
                                                   const SegmentInfo& segment_info) const = 0;

  /**
   * Loads into memory of the caller.
   *
   * @param buffer Room for `size` bytes.
   * @retval Error::NotImplemented the loader cannot; use load().
   */
  ET_NODISCARD virtual Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                       void* buffer) const {
    (void)offset;
    (void)size;
    (void)segment_info;
    (void)buffer;
    ET_LOG(Error, "this DataLoader has no load_into(); use load()");
    return Error::NotImplemented;
  }

  /// Bytes of the whole source.
  ET_NODISCARD virtual Result<size_t> size() const = 0;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::DataLoader;
}  // namespace executor
}  // namespace torch
