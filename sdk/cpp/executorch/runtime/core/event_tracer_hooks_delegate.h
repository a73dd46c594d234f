// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Calls of a delegate into the EventTracer of BackendExecutionContext::event_tracer(), which may be null. An event is
 * named by a string, or by an integer (`delegate_debug_id`) with a null name.
 */
#pragma once

#include <type_traits>

#include <executorch/runtime/core/event_tracer_hooks.h>

namespace executorch {
namespace runtime {

/// Starts an event inside the delegate; an empty entry when there is no tracer or it measures only methods.
inline EventTracerEntry event_tracer_start_profiling_delegate(EventTracer* event_tracer, const char* name,
                                                              DebugHandle delegate_debug_id) {
  if (internal::event_tracer_measures_all(event_tracer)) {
    return event_tracer->start_profiling_delegate(name, static_cast<DelegateDebugIntId>(delegate_debug_id));
  }
  return EventTracerEntry();
}

/// Ends the event. `metadata` is copied.
inline void event_tracer_end_profiling_delegate(EventTracer* event_tracer, EventTracerEntry event_tracer_entry,
                                                const void* metadata = nullptr, size_t metadata_len = 0) {
  if (internal::event_tracer_measures_all(event_tracer)) {
    event_tracer->end_profiling_delegate(event_tracer_entry, metadata, metadata_len);
  }
}

/// Records an event that is over, with times of the delegate's own clock.
inline void event_tracer_log_profiling_delegate(EventTracer* event_tracer, const char* name,
                                                DebugHandle delegate_debug_id, et_timestamp_t start_time,
                                                et_timestamp_t end_time, const void* metadata = nullptr,
                                                size_t metadata_len = 0) {
  if (internal::event_tracer_measures_all(event_tracer)) {
    event_tracer->log_profiling_delegate(name, static_cast<DelegateDebugIntId>(delegate_debug_id), start_time, end_time,
                                         metadata, metadata_len);
  }
}

/// Logs an output inside the delegate when intermediate outputs are logged. T: Tensor, ArrayRef<Tensor>, int, bool,
/// double.
template <typename T>
inline void event_tracer_log_output_delegate(EventTracer* event_tracer, const char* name, DebugHandle delegate_debug_id,
                                             const T& output) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, bool> || std::is_same_v<T, double> ||
                    std::is_same_v<T, aten::Tensor> || std::is_same_v<T, ArrayRef<aten::Tensor>>,
                "an output is an int, a bool, a double, a Tensor or an ArrayRef<Tensor>");
  if (internal::event_tracer_active(event_tracer) && event_tracer->intermediate_outputs_logging_status()) {
    (void)event_tracer->log_intermediate_output_delegate(name, static_cast<DelegateDebugIntId>(delegate_debug_id),
                                                         output);
  }
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::event_tracer_end_profiling_delegate;
using ::executorch::runtime::event_tracer_log_output_delegate;
using ::executorch::runtime::event_tracer_log_profiling_delegate;
using ::executorch::runtime::event_tracer_start_profiling_delegate;
}  // namespace executor
}  // namespace torch
