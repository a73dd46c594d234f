// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <vector>

struct xnn_usage_record;

namespace executorch {
namespace backends {
namespace xnnpack {

/// The memory in which XNNPACK plans the workspace of a runtime, allocated before xnn_reshape_runtime() is called.
/// XNNPACK does not check whether it gets memory for the records of its values, and its planner cannot return an error.
class PlanningMemory {
 public:
  /// Serves the calls of xnn_reshape_runtime() by this thread until it is destroyed. The lists throw std::bad_alloc.
  explicit PlanningMemory(xnn_runtime_t runtime);
  PlanningMemory(const PlanningMemory&) = delete;
  PlanningMemory& operator=(const PlanningMemory&) = delete;
  ~PlanningMemory();

  /// Whether there was memory for the records.
  bool has_records() const { return records_ != nullptr; }

  /// The memory of this thread, or null.
  static PlanningMemory* of_thread();

  /// The records, if they have `size` bytes and were not taken yet, or null. XNNPACK frees them.
  void* take_records(size_t size);

  /// They have room for all values.
  std::vector<xnn_usage_record*> by_size, placed;

 private:
  size_t size_;
  void* records_;
};

/// The allocator for XNNPACK: its default one, or the records of PlanningMemory if the heap is exhausted.
const xnn_allocator& allocator();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
