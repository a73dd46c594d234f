// SPDX-License-Identifier: BSD-3-Clause
// Plans the workspace. XNNPACK's own planner does not use gaps before the first value that is in use, so that ResNet50
// takes 44 MB instead of 10. third_party.cmake makes XNNPACK call this function instead.
#include "private/memory_plan.h"

#include <algorithm>
#include <utility>

#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

thread_local PlanningMemory* of_this_thread = nullptr;

void* allocate(void* context, size_t size) {
  void* const memory = xnn_default_allocator.allocate(context, size);
  return memory != nullptr || of_this_thread == nullptr ? memory : of_this_thread->take_records(size);
}

}  // namespace

PlanningMemory::PlanningMemory(xnn_runtime_t runtime) {
  const size_t count = runtime->num_values + runtime->num_ops;
  by_size.reserve(count);
  placed.reserve(count);
  size_ = count * sizeof(xnn_usage_record);
  records_ = xnn_default_allocator.allocate(nullptr, size_);
  of_this_thread = this;
}

PlanningMemory::~PlanningMemory() {
  of_this_thread = nullptr;
  xnn_default_allocator.deallocate(nullptr, records_);
}

PlanningMemory* PlanningMemory::of_thread() {
  return of_this_thread;
}

void* PlanningMemory::take_records(size_t size) {
  return size == size_ ? std::exchange(records_, nullptr) : nullptr;
}

const xnn_allocator& allocator() {
  static const xnn_allocator made = [] {
    xnn_allocator changed = xnn_default_allocator;
    changed.allocate = allocate;
    return changed;
  }();
  return made;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

namespace {

using executorch::backends::xnnpack::PlanningMemory;

bool live_together(const xnn_usage_record& a, const xnn_usage_record& b) {
  return a.first_node <= b.last_node && b.first_node <= a.last_node;
}

/// The start of the smallest sufficient gap between values with overlapping lifetimes, or the end of all of these.
size_t find_place(const xnn_usage_record& wanted, const std::vector<xnn_usage_record*>& placed) {
  size_t smallest = SIZE_MAX, place = 0, end = 0;
  for (const xnn_usage_record* other : placed) {
    if (!live_together(wanted, *other)) {
      continue;
    }
    if (other->alloc_offset > end) {
      const size_t gap = other->alloc_offset - end;
      if (gap >= wanted.tensor_size && gap < smallest) {
        smallest = gap;
        place = end;
      }
    }
    end = std::max(end, other->alloc_offset + other->tensor_size);
  }
  return smallest == SIZE_MAX ? end : place;
}

}  // namespace

/// Gives each value with a size an offset in the workspace, the largest first, so that values with overlapping
/// lifetimes do not overlap in memory.
extern "C" void executorch_xnnpack_plan_values(xnn_value_allocation_tracker* tracker) {
  tracker->mem_arena_size = 0;
  if (tracker->min_value_id == XNN_INVALID_VALUE_ID) {
    return;
  }
  xnn_usage_record* const first = tracker->usage + tracker->min_value_id;
  xnn_usage_record* const end = tracker->usage + tracker->max_value_id + 1;
  PlanningMemory* const reserved = PlanningMemory::of_thread();
  std::vector<xnn_usage_record*> own_by_size, own_placed;
  auto& by_size = reserved == nullptr ? own_by_size : reserved->by_size;
  auto& placed = reserved == nullptr ? own_placed : reserved->placed;  // sorted by offset
  by_size.clear();
  placed.clear();
  for (xnn_usage_record* record = first; record < end; ++record) {
    if (record->tensor_size > 0) {
      by_size.push_back(record);
    }
  }
  std::stable_sort(by_size.begin(), by_size.end(), [](const xnn_usage_record* a, const xnn_usage_record* b) {
    return a->tensor_size > b->tensor_size;
  });
  for (xnn_usage_record* record : by_size) {
    record->alloc_offset = find_place(*record, placed);
    tracker->mem_arena_size = std::max(tracker->mem_arena_size, record->alloc_offset + record->tensor_size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), record,
                                   [](const xnn_usage_record* a, const xnn_usage_record* b) {
                                     return a->alloc_offset < b->alloc_offset;
                                   }),
                  record);
  }
  // Values that are computed in place have no size; they get the offset of the value that they overwrite.
  for (xnn_usage_record* record = first; record < end; ++record) {
    const xnn_usage_record* reused = record;
    while (reused->reuse_value_id != XNN_INVALID_VALUE_ID) {
      reused = tracker->usage + reused->reuse_value_id;
    }
    record->alloc_offset = reused->alloc_offset;
  }
}
