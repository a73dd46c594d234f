// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/planned_buffers.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

using runtime::Error;
using runtime::Result;
using runtime::Span;

Result<std::vector<size_t>> PlannedBuffers::sizes_for(const ET_RUNTIME_NAMESPACE::MethodMeta& meta) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const Result<int64_t> size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) {
      return size.error();
    }
    const auto device = meta.memory_planned_buffer_device(i);
    ET_CHECK_OR_RETURN_ERROR(!device.ok() || device->type() == runtime::etensor::DeviceType::CPU, NotSupported,
                             "planned buffer %zu is not in CPU memory; pass a planned_memory that provides it", i);
    sizes.push_back(static_cast<size_t>(size.get()));
  }
  return sizes;
}

Error PlannedBuffers::allocate(const std::vector<size_t>& sizes) {
  buffers_.reserve(sizes.size());
  spans_.reserve(sizes.size());
  for (const size_t size : sizes) {
    buffers_.emplace_back(size);
    uint8_t* data = buffers_.back().data();
    ET_CHECK_OR_RETURN_ERROR(data != nullptr || size == 0, MemoryAllocationFailed,
                             "%zu bytes of planned memory could not be allocated", size);
    spans_.emplace_back(data, size);
  }
  allocator_ = std::make_unique<runtime::HierarchicalAllocator>(Span<Span<uint8_t>>(spans_.data(), spans_.size()));
  allocator_->set_zeroed(true);
  return Error::Ok;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
