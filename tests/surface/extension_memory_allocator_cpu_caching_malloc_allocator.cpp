// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/cpu_caching_malloc_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<CPUCachingAllocator, uint32_t>);
static_assert(is<void* (CPUCachingAllocator::*)(size_t, size_t)>(&CPUCachingAllocator::allocate));
using allocate_default = decltype(make<CPUCachingAllocator&>().allocate(make<size_t>()));
static_assert(is<void (CPUCachingAllocator::*)()>(&CPUCachingAllocator::reset));
static_assert(std::is_destructible_v<CPUCachingAllocator>);
static_assert(std::is_same_v<SmallVector<int, 4>, std::vector<int>>);
static_assert(std::is_same_v<FlatHashMap<int, char>, std::unordered_map<int, char>>);
static_assert(kCachingAllocatorDefaultAlignment == 64);

}  // namespace surface
