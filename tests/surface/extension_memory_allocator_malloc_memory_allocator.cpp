// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<MallocMemoryAllocator>);
static_assert(std::is_destructible_v<MallocMemoryAllocator>);
static_assert(is<void* (MallocMemoryAllocator::*)(size_t, size_t)>(&MallocMemoryAllocator::allocate));
using allocate_default = decltype(make<MallocMemoryAllocator&>().allocate(make<size_t>()));
static_assert(is<void (MallocMemoryAllocator::*)()>(&MallocMemoryAllocator::reset));
namespace aliases {
using ::torch::executor::util::MallocMemoryAllocator;
}  // namespace aliases

}  // namespace surface
