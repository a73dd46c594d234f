// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/extension/data_loader/data_range.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {

/// Loads from bytes already in memory, without a copy and without the heap. The bytes are not owned: they must outlive
/// the loader and everything loaded from it. Program data must be aligned to 16 bytes.
class BufferDataLoader final : public runtime::DataLoader {
 public:
  /// `data` points to `size` bytes.
  BufferDataLoader(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}

  /// A view of [offset, offset + size). InvalidArgument if the range does not fit.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, ET_UNUSED const DataLoader::SegmentInfo& segment_info) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::check_memory_range(data_, offset, size, size_, "the buffer"));
    return data_ == nullptr ? runtime::FreeableBuffer() : runtime::FreeableBuffer(data_ + offset, size, nullptr);
  }

  ET_NODISCARD runtime::Result<size_t> size() const override { return size_; }

  /// Copies [offset, offset + size) to `buffer`. InvalidArgument if the range does not fit or `buffer` is null.
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, ET_UNUSED const SegmentInfo& segment_info,
                                        void* buffer) const override {
    return internal::copy_memory_range(data_, offset, size, size_, "the buffer", buffer);
  }

 private:
  const uint8_t* const data_;
  const size_t size_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::BufferDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
