// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>

#include "signatures.h"

namespace surface {

static_assert(is<EventTracerEntry (*)(EventTracer*, const char*, DebugHandle)>(&event_tracer_start_profiling_delegate));
static_assert(is<void (*)(EventTracer*, EventTracerEntry, const void*, size_t)>(&event_tracer_end_profiling_delegate));
using event_tracer_end_profiling_delegate_default =
    decltype(event_tracer_end_profiling_delegate(make<EventTracer*>(), make<EventTracerEntry>()));
static_assert(is<void (*)(EventTracer*, const char*, DebugHandle, et_timestamp_t, et_timestamp_t, const void*, size_t)>(
    &event_tracer_log_profiling_delegate));
using event_tracer_log_profiling_delegate_default = decltype(event_tracer_log_profiling_delegate(
    make<EventTracer*>(), make<const char*>(), make<DebugHandle>(), make<et_timestamp_t>(), make<et_timestamp_t>()));
static_assert(is<void (*)(EventTracer*, const char*, DebugHandle, const int&)>(&event_tracer_log_output_delegate<int>));

}  // namespace surface
