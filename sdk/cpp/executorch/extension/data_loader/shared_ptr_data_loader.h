// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <executorch/extension/data_loader/data_range.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

/// Loads from shared memory, without a copy. The loader and every buffer loaded from it keep the memory alive.
class SharedPtrDataLoader final : public runtime::DataLoader {
 public:
  /// `data` points to `size` bytes.
  SharedPtrDataLoader(std::shared_ptr<void> data, size_t size) : data_(std::move(data)), size_(size) {}

  /// A view of [offset, offset + size) that shares ownership. InvalidArgument if the range does not fit.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, ET_UNUSED const DataLoader::SegmentInfo& segment_info) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::check_memory_range(data_.get(), offset, size, size_, "the shared buffer"));
    if (data_ == nullptr) {
      return runtime::FreeableBuffer();  // owns nothing, because a buffer of null data never deletes its owner
    }
    auto* owner = new (std::nothrow) std::shared_ptr<void>(data_);
    ET_CHECK_OR_RETURN_ERROR(owner != nullptr, MemoryAllocationFailed, "out of memory");
    return runtime::FreeableBuffer(
        static_cast<const uint8_t*>(data_.get()) + offset, size,
        [](void* context, void*, size_t) { delete static_cast<std::shared_ptr<void>*>(context); }, owner);
  }

  ET_NODISCARD runtime::Result<size_t> size() const override { return size_; }

  /// Copies [offset, offset + size) to `buffer`. InvalidArgument if the range does not fit or `buffer` is null.
  ET_NODISCARD runtime::Error load_into(size_t offset, size_t size, ET_UNUSED const SegmentInfo& segment_info,
                                        void* buffer) const override {
    return internal::copy_memory_range(data_.get(), offset, size, size_, "the shared buffer", buffer);
  }

 private:
  const std::shared_ptr<void> data_;
  const size_t size_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::SharedPtrDataLoader;
}  // namespace util
}  // namespace executor
}  // namespace torch
