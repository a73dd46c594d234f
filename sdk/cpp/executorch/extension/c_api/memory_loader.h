// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include <executorch/extension/c_api/release.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {
namespace c_api {

/// Loads from bytes in memory; the last owner of `memory` releases them.
class MemoryLoader final : public runtime::DataLoader {
 public:
  MemoryLoader(std::shared_ptr<const void> memory, size_t size)
      : memory_(std::move(memory)), loader_(memory_.get(), size) {}

  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                             const SegmentInfo& info) const override {
    return loader_.load(offset, size, info);
  }
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                                        void* buffer) const override {
    return loader_.load_into(offset, size, info, buffer);
  }
  ET_NODISCARD runtime::Result<size_t> size() const override { return loader_.size(); }

 private:
  std::shared_ptr<const void> memory_;
  BufferDataLoader loader_;
};

/// `size` bytes in the caller's memory, in place if they have the alignment of programs, else copied.
/// Errors: MemoryAllocationFailed.
runtime::Result<std::shared_ptr<const void>> aligned_memory(Release borrowed, size_t size);

/// A loader of these bytes. Errors: MemoryAllocationFailed.
runtime::Result<std::unique_ptr<runtime::DataLoader>> load_from_memory(Release borrowed, size_t size);

/// `length` bytes at `offset` of a regular file (0: to its end), mapped; read if `map` is false or the offset does not
/// have the alignment of programs. The descriptor is not used afterwards.
/// Errors: AccessFailed, InvalidArgument, MemoryAllocationFailed; NotSupported where there are no descriptors.
runtime::Result<std::unique_ptr<runtime::DataLoader>> load_from_descriptor(int fd, uint64_t offset, uint64_t length,
                                                                           bool map);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
