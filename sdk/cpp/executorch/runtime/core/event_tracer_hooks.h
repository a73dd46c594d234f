// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Calls of the runtime into an EventTracer. All of them accept a null tracer, and all of them compile to nothing unless
 * ET_EVENT_TRACER_ENABLED is defined.
 */
#pragma once

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace runtime {
namespace internal {

#ifdef ET_EVENT_TRACER_ENABLED
constexpr bool kEventTracerEnabled = true;
#else
constexpr bool kEventTracerEnabled = false;
#endif

/// True when tracing is compiled in.
inline bool event_tracer_enabled() {
  return kEventTracerEnabled;
}

/// True when calls reach `event_tracer`.
inline bool event_tracer_active(EventTracer* event_tracer) {
  return kEventTracerEnabled && event_tracer != nullptr;
}

/// True when events below the method are measured.
inline bool event_tracer_measures_all(EventTracer* event_tracer) {
  return event_tracer_active(event_tracer) &&
         event_tracer->event_tracer_profiling_level() > EventTracerProfilingLevel::kProfileMethodOnly;
}

/// True when kernels are measured by start_kernel() and end_kernel().
inline bool event_tracer_times_kernels(EventTracer* event_tracer) {
  return event_tracer_measures_all(event_tracer) && event_tracer->times_kernels();
}

/// An event as long as the object, measured at every profiling level: a whole method.
class EventTracerProfileMethodScope final {
 public:
  EventTracerProfileMethodScope(EventTracer* event_tracer, const char* name)
      : event_tracer_(event_tracer_active(event_tracer) ? event_tracer : nullptr) {
    if (event_tracer_active(event_tracer_)) {
      event_entry_ = event_tracer_->start_profiling(name);
    }
  }
  ~EventTracerProfileMethodScope() {
    if (event_tracer_active(event_tracer_)) {
      event_tracer_->end_profiling(event_entry_);
    }
  }
  EventTracerProfileMethodScope(const EventTracerProfileMethodScope&) = delete;
  EventTracerProfileMethodScope& operator=(const EventTracerProfileMethodScope&) = delete;

 private:
  EventTracer* event_tracer_;
  EventTracerEntry event_entry_;
};

/// An event as long as the object, measured when all events are: an operator or a delegate.
class EventTracerProfileOpScope final {
 public:
  EventTracerProfileOpScope(EventTracer* event_tracer, const char* name)
      : scope_(event_tracer_measures_all(event_tracer) ? event_tracer : nullptr, name) {}

 private:
  EventTracerProfileMethodScope scope_;
};
using EventTracerProfileScope = EventTracerProfileOpScope;

/// Names the current instruction for the lifetime of the object.
class EventTracerProfileInstructionScope final {
 public:
  EventTracerProfileInstructionScope(EventTracer* event_tracer, ChainID chain_idx, DebugHandle debug_handle)
      : event_tracer_(event_tracer_measures_all(event_tracer) ? event_tracer : nullptr) {
    if (event_tracer_active(event_tracer_)) {
      event_tracer_->set_chain_debug_handle(chain_idx, debug_handle);
    }
  }
  ~EventTracerProfileInstructionScope() {
    if (event_tracer_active(event_tracer_)) {
      event_tracer_->set_chain_debug_handle(kUnsetChainId, kUnsetDebugHandle);
    }
  }
  EventTracerProfileInstructionScope(const EventTracerProfileInstructionScope&) = delete;
  EventTracerProfileInstructionScope& operator=(const EventTracerProfileInstructionScope&) = delete;

 private:
  EventTracer* event_tracer_;
};

inline void event_tracer_create_event_block(EventTracer* event_tracer, char const* name) {
  if (event_tracer_active(event_tracer)) {
    event_tracer->create_event_block(name);
  }
}

/// An empty entry when there is no tracer or it measures only methods.
inline EventTracerEntry event_tracer_begin_profiling_event(EventTracer* event_tracer, char const* name) {
  if (event_tracer_measures_all(event_tracer)) {
    return event_tracer->start_profiling(name);
  }
  return EventTracerEntry();
}

inline void event_tracer_end_profiling_event(EventTracer* event_tracer, EventTracerEntry event) {
  if (event_tracer_measures_all(event_tracer)) {
    event_tracer->end_profiling(event);
  }
}

/// 0 when there is no tracer.
inline AllocatorID event_tracer_track_allocator(EventTracer* event_tracer, const char* name) {
  return event_tracer_active(event_tracer) ? event_tracer->track_allocator(name) : 0;
}

inline void event_tracer_track_allocation(EventTracer* event_tracer, AllocatorID id, size_t size) {
  if (event_tracer_active(event_tracer)) {
    event_tracer->track_allocation(id, size);
  }
}

/// Passes an input of an execution to the tracer unless logging is off.
inline void event_tracer_log_input(EventTracer* event_tracer, size_t index, const EValue& value) {
  if (event_tracer_active(event_tracer) &&
      event_tracer->event_tracer_debug_level() != EventTracerDebugLogLevel::kNoLogging) {
    event_tracer->log_input(index, value);
  }
}

/// Logs the output of an instruction when intermediate outputs are logged.
inline void event_tracer_log_evalue(EventTracer* event_tracer, EValue& evalue) {
  if (event_tracer_active(event_tracer) && event_tracer->intermediate_outputs_logging_status()) {
    (void)event_tracer->log_evalue(evalue, LoggedEValueType::kIntermediateOutput);
  }
}

/// Logs an output of the program unless logging is off.
inline void event_tracer_log_evalue_output(EventTracer* event_tracer, const EValue& evalue) {
  if (event_tracer_active(event_tracer) &&
      event_tracer->event_tracer_debug_level() >= EventTracerDebugLogLevel::kProgramOutputs) {
    (void)event_tracer->log_evalue(evalue, LoggedEValueType::kProgramOutput);
  }
}

inline void event_tracer_set_bundled_input_index(EventTracer* event_tracer, int bundled_input_index) {
  if (event_tracer_active(event_tracer)) {
    event_tracer->set_bundled_input_index(bundled_input_index);
  }
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
