// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/memory_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<MemoryAllocator, uint32_t, uint8_t*>);
static_assert(std::is_destructible_v<MemoryAllocator>);
static_assert(is<void* (MemoryAllocator::*)(size_t, size_t)>(&MemoryAllocator::allocate));
using allocate_default = decltype(make<MemoryAllocator&>().allocate(make<size_t>()));
static_assert(is<uint8_t* (MemoryAllocator::*)() const>(&MemoryAllocator::base_address));
static_assert(is<uint32_t (MemoryAllocator::*)() const>(&MemoryAllocator::size));
static_assert(is<size_t (MemoryAllocator::*)() const>(&MemoryAllocator::used_size));
static_assert(is<size_t (MemoryAllocator::*)() const>(&MemoryAllocator::free_size));
static_assert(is<void (MemoryAllocator::*)()>(&MemoryAllocator::reset));
static_assert(is<void (MemoryAllocator::*)(const char*)>(&MemoryAllocator::enable_profiling));
static_assert(MemoryAllocator::kDefaultAlignment == alignof(void*));
static_assert(is<int* (MemoryAllocator::*)(size_t)>(&MemoryAllocator::allocateInstance<int>));
static_assert(is<int* (MemoryAllocator::*)(size_t, size_t)>(&MemoryAllocator::allocateList<int>));
struct Subclass : MemoryAllocator {
  static_assert(std::is_same_v<decltype(&Subclass::prof_id), int32_t (MemoryAllocator::*)() const>);
  static_assert(is<bool (*)(size_t)>(&Subclass::isPowerOf2));
  static_assert(is<uint8_t* (*)(void*, size_t)>(&Subclass::alignPointer));
};

}  // namespace surface
