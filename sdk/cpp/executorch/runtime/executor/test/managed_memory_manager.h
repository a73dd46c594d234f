// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>

namespace executorch {
namespace runtime {
namespace testing {

/// A MemoryManager that owns its memory, for tests: one planned buffer and a method allocator. A method whose program
/// has several planned buffers needs a HierarchicalAllocator.
class ManagedMemoryManager {
 public:
  /// @param temp_allocator Not owned; may be null, as in MemoryManager.
  ManagedMemoryManager(size_t planned_memory_bytes, size_t method_allocator_bytes,
                       MemoryAllocator* temp_allocator = nullptr)
      : planned_memory_buffer_(new uint8_t[planned_memory_bytes]),
        planned_memory_span_(planned_memory_buffer_.get(), planned_memory_bytes),
        planned_memory_({&planned_memory_span_, 1}),
        method_allocator_pool_(new uint8_t[method_allocator_bytes]),
        method_allocator_(static_cast<uint32_t>(method_allocator_bytes), method_allocator_pool_.get()),
        memory_manager_(&method_allocator_, &planned_memory_, temp_allocator) {}

  /// Lives as long as this object.
  MemoryManager& get() { return memory_manager_; }

 private:
  std::unique_ptr<uint8_t[]> planned_memory_buffer_;
  Span<uint8_t> planned_memory_span_;
  HierarchicalAllocator planned_memory_;
  std::unique_ptr<uint8_t[]> method_allocator_pool_;
  MemoryAllocator method_allocator_;
  MemoryManager memory_manager_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
namespace testing {
using ::executorch::runtime::testing::ManagedMemoryManager;
}  // namespace testing
}  // namespace executor
}  // namespace torch
