// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/hierarchical_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<HierarchicalAllocator, Span<Span<uint8_t>>>);
static_assert(std::is_constructible_v<HierarchicalAllocator, Span<Span<uint8_t>>, Span<const etensor::Device>>);
static_assert(std::is_constructible_v<HierarchicalAllocator, uint32_t, MemoryAllocator*>);
static_assert(
    is<Result<void*> (HierarchicalAllocator::*)(uint32_t, size_t, size_t)>(&HierarchicalAllocator::get_offset_address));
static_assert(
    is<Span<const etensor::Device> (HierarchicalAllocator::*)() const>(&HierarchicalAllocator::planned_buffer_devices));

}  // namespace surface
