// SPDX-License-Identifier: BSD-3-Clause
// Where the values between operators lie. XNNPACK's own function of this name never puts one in front of the first that
// is in use, for which ResNet50 takes 44 MB where 10 are enough; third_party.cmake lets it call this one.
#include <xnnpack.h>

#include <algorithm>
#include <vector>

#include "private/xnnpack_runtime.h"

namespace {

bool live_together(const xnn_usage_record& a, const xnn_usage_record& b) {
  return a.first_node <= b.last_node && b.first_node <= a.last_node;
}

/// The start of the smallest gap between those that are needed at the same time, or the end of all.
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

/// Gives each record with a size a place in `tracker`'s memory that none has at the same time, the largest first.
extern "C" void executorch_xnnpack_plan_values(xnn_value_allocation_tracker* tracker) {
  tracker->mem_arena_size = 0;
  if (tracker->min_value_id == XNN_INVALID_VALUE_ID) {
    return;
  }
  xnn_usage_record* const first = tracker->usage + tracker->min_value_id;
  xnn_usage_record* const end = tracker->usage + tracker->max_value_id + 1;
  std::vector<xnn_usage_record*> by_size;
  for (xnn_usage_record* record = first; record < end; ++record) {
    if (record->tensor_size > 0) {
      by_size.push_back(record);
    }
  }
  std::stable_sort(by_size.begin(), by_size.end(), [](const xnn_usage_record* a, const xnn_usage_record* b) {
    return a->tensor_size > b->tensor_size;
  });
  std::vector<xnn_usage_record*> placed;  // by their places
  placed.reserve(by_size.size());
  for (xnn_usage_record* record : by_size) {
    record->alloc_offset = find_place(*record, placed);
    tracker->mem_arena_size = std::max(tracker->mem_arena_size, record->alloc_offset + record->tensor_size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), record,
                                   [](const xnn_usage_record* a, const xnn_usage_record* b) {
                                     return a->alloc_offset < b->alloc_offset;
                                   }),
                  record);
  }
  // What is computed in place has no size of its own.
  for (xnn_usage_record* record = first; record < end; ++record) {
    const xnn_usage_record* reused = record;
    while (reused->reuse_value_id != XNN_INVALID_VALUE_ID) {
      reused = tracker->usage + reused->reuse_value_id;
    }
    record->alloc_offset = reused->alloc_offset;
  }
}
