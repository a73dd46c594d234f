// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/hierarchical_allocator.h>

namespace executorch {
namespace runtime {

HierarchicalAllocator::HierarchicalAllocator(Span<Span<uint8_t>> buffers,
                                             Span<const etensor::Device> planned_buffer_devices)
    : buffers_(buffers), devices_(planned_buffer_devices) {
  // Whether the number of buffers is right depends on the program, so get_offset_address() reports it.
  if (!devices_.empty() && devices_.size() != buffers_.size()) {
    ET_LOG(Error,
           "expected a device for each buffer (%" ET_PRIsize_t ") or none, found %" ET_PRIsize_t ": no buffer is used",
           buffers_.size(), devices_.size());
    buffers_ = {};
    devices_ = {};
  }
}

HierarchicalAllocator::HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators) {
  if (n_allocators > kMaxAllocators) {
    ET_LOG(Error,
           "expected at most %" ET_PRIsize_t " allocators, found %" PRIu32
           ": no buffer is used; pass a Span of buffers instead",
           kMaxAllocators, n_allocators);
    return;
  }
  if (allocators == nullptr) {
    ET_LOG(Error, "expected %" PRIu32 " allocators, found a null pointer: no buffer is used", n_allocators);
    return;
  }
  for (uint32_t i = 0; i < n_allocators; ++i) {
    allocator_buffers_[i] = Span<uint8_t>(allocators[i].base_address(), allocators[i].size());
  }
  buffers_ = Span<Span<uint8_t>>(allocator_buffers_, n_allocators);
}

Result<void*> HierarchicalAllocator::get_offset_address(uint32_t memory_id, size_t offset_bytes, size_t size_bytes) {
  ET_CHECK_OR_RETURN_ERROR(memory_id < buffers_.size(), InvalidArgument,
                           "planned buffer %" PRIu32 " is needed, %" ET_PRIsize_t
                           " were given. Give as many as MethodMeta::num_memory_planned_buffers()",
                           memory_id, buffers_.size());
  const Span<uint8_t> buffer = buffers_[memory_id];
  ET_CHECK_OR_RETURN_ERROR(offset_bytes <= buffer.size() && size_bytes <= buffer.size() - offset_bytes,
                           MemoryAllocationFailed,
                           "%" ET_PRIsize_t " bytes at offset %" ET_PRIsize_t " are not inside planned buffer %" PRIu32
                           " of %" ET_PRIsize_t " bytes. Give it MethodMeta::memory_planned_buffer_size() bytes",
                           size_bytes, offset_bytes, memory_id, buffer.size());
  return static_cast<void*>(buffer.data() + offset_bytes);
}

}  // namespace runtime
}  // namespace executorch
