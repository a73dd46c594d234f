// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/module/planned_buffers.h>
#include <executorch/runtime/executor/memory_manager.h>

namespace executorch {
namespace extension {
namespace ET_MODULE_NAMESPACE {

/// A method with its memory. The method must be destroyed before the memory that it points to.
struct Module::LoadedMethod {
  MallocMemoryAllocator own_allocator;
  std::vector<Kernel> kernel_registry;
  internal::PlannedBuffers own_buffers;
  std::vector<internal::ZeroedBuffer> output_buffers;
  std::unique_ptr<runtime::MemoryManager> memory_manager;
  std::unique_ptr<Method> method;
  std::vector<runtime::EValue> preset_inputs;

  /// Allocates memory for the outputs that have no planned memory, at most `max_bytes`.
  runtime::Error provide_unplanned_outputs(size_t max_bytes);
};

}  // namespace ET_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
