// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/memory_manager.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<MemoryManager, MemoryAllocator*, HierarchicalAllocator*, MemoryAllocator*>);
static_assert(std::is_constructible_v<MemoryManager, MemoryAllocator*>);
static_assert(std::is_constructible_v<MemoryManager, MemoryAllocator*, HierarchicalAllocator*, MemoryAllocator*,
                                      MemoryAllocator*>);
static_assert(is<MemoryAllocator* (MemoryManager::*)() const>(&MemoryManager::method_allocator));
static_assert(is<HierarchicalAllocator* (MemoryManager::*)() const>(&MemoryManager::planned_memory));
static_assert(is<MemoryAllocator* (MemoryManager::*)() const>(&MemoryManager::temp_allocator));
static_assert(is<Span<const etensor::Device> (MemoryManager::*)() const>(&MemoryManager::planned_buffer_devices));
static_assert(is<bool (MemoryManager::*)() const>(&MemoryManager::has_device_memory));

}  // namespace surface
