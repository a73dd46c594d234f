// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/planned_buffers.h>

#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

using runtime::Error;
using runtime::Result;
using runtime::Span;

Result<std::vector<PlannedBuffers::Need>> PlannedBuffers::needs_of(const ET_RUNTIME_NAMESPACE::MethodMeta& meta) {
  std::vector<Need> needs;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const Result<int64_t> size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) {
      return size.error();
    }
    const auto device = meta.memory_planned_buffer_device(i);
    if (!device.ok()) {
      return device.error();
    }
    needs.push_back({static_cast<size_t>(size.get()), device.get()});
  }
  return needs;
}

Error PlannedBuffers::allocate(const std::vector<Need>& needs, size_t shared, Span<uint8_t> memory) {
  buffers_.reserve(needs.size());
  spans_.reserve(needs.size());
  bool is_zeroed = true;
  for (size_t i = 0; i < needs.size(); ++i) {
    const auto& [size, device] = needs[i];
    devices_.push_back(device);
    if (i == shared) {
      spans_.push_back(memory);
      continue;
    }
    if (!device.is_cpu()) {
      auto memory = runtime::DeviceMemoryBuffer::create(size, device.type(), device.index());
      if (!memory.ok()) {
        return memory.error();  // the reason has been logged
      }
      device_buffers_.push_back(std::move(memory.get()));
      spans_.push_back(device_buffers_.back().as_span());
      is_zeroed = false;
      continue;
    }
    buffers_.emplace_back(size);
    uint8_t* data = buffers_.back().data();
    ET_CHECK_OR_RETURN_ERROR(data != nullptr || size == 0, MemoryAllocationFailed,
                             "%zu bytes of planned memory could not be allocated", size);
    spans_.emplace_back(data, size);
  }
  const Span<Span<uint8_t>> spans(spans_.data(), spans_.size());
  allocator_ = device_buffers_.empty()
                   ? std::make_unique<runtime::HierarchicalAllocator>(spans)
                   : std::make_unique<runtime::HierarchicalAllocator>(
                         spans, Span<const runtime::etensor::Device>(devices_.data(), devices_.size()));
  allocator_->set_zeroed(is_zeroed);
  return Error::Ok;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
