// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// The memory of a Method. Owns nothing: the allocators and their memory must outlive every
/// Method that was loaded with them.
class MemoryManager final {
 public:
  /// @param method_allocator For everything that lives as long as the Method: values, instructions, delegates.
  /// @param planned_memory The planned buffers of the method, in the order of MethodMeta::memory_planned_buffer_size.
  ///     May be null when the method has none. Two methods share one only if they never run at the same time.
  /// @param temp_allocator Scratch memory of kernels and delegates, reset after each instruction. May be null: the
  ///     method then uses the platform layer (et_pal_allocate).
  /// The allocators must not share memory: Program::load_method() returns InvalidArgument if `temp_allocator` is
  /// `method_allocator`, or if two of them overlap (of planned buffers, it compares the first 64 on the CPU). Memory
  /// that `method_allocator` has handed out before may be used for the others.
  explicit MemoryManager(MemoryAllocator* method_allocator, HierarchicalAllocator* planned_memory = nullptr,
                         MemoryAllocator* temp_allocator = nullptr)
      : method_allocator_(method_allocator), planned_memory_(planned_memory), temp_allocator_(temp_allocator) {}

  /// The form of older code. `constant_allocator` is not used.
  MemoryManager([[maybe_unused]] MemoryAllocator* constant_allocator, HierarchicalAllocator* non_constant_allocator,
                MemoryAllocator* runtime_allocator, MemoryAllocator* temporary_allocator)
      : MemoryManager(runtime_allocator, non_constant_allocator, temporary_allocator) {}

  MemoryAllocator* method_allocator() const { return method_allocator_; }

  HierarchicalAllocator* planned_memory() const { return planned_memory_; }

  MemoryAllocator* temp_allocator() const { return temp_allocator_; }

  /// The device of each planned buffer; empty when all of them are on the CPU.
  Span<const etensor::Device> planned_buffer_devices() const {
    return planned_memory_ == nullptr ? Span<const etensor::Device>() : planned_memory_->planned_buffer_devices();
  }

  /// Whether a planned buffer is not on the CPU.
  bool has_device_memory() const {
    for (const auto& device : planned_buffer_devices()) {
      if (!device.is_cpu()) {
        return true;
      }
    }
    return false;
  }

 private:
  MemoryAllocator* method_allocator_;
  HierarchicalAllocator* planned_memory_;
  MemoryAllocator* temp_allocator_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryManager;
}  // namespace executor
}  // namespace torch
