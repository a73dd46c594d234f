// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/event_tracer.h>

#include "signatures.h"

namespace surface {

static_assert(static_cast<long>(DelegateDebugIdType::kNone) == 0);
static_assert(static_cast<long>(DelegateDebugIdType::kInt) == 1);
static_assert(static_cast<long>(DelegateDebugIdType::kStr) == 2);
static_assert(static_cast<long>(LoggedEValueType::kIntermediateOutput) == 0);
static_assert(static_cast<long>(LoggedEValueType::kProgramOutput) == 1);
static_assert(static_cast<long>(EventTracerDebugLogLevel::kNoLogging) == 0);
static_assert(static_cast<long>(EventTracerDebugLogLevel::kProgramOutputs) == 1);
static_assert(static_cast<long>(EventTracerDebugLogLevel::kIntermediateOutputs) == 2);
static_assert(
    is<Result<bool> (EventTracerFilterBase::*)(const char*, DelegateDebugIntId)>(&EventTracerFilterBase::filter));
static_assert(std::is_destructible_v<EventTracerFilterBase>);
static_assert(static_cast<long>(EventTracerProfilingLevel::kProfileMethodOnly) == 0);
static_assert(static_cast<long>(EventTracerProfilingLevel::kProfileAllEvents) == 1);
static_assert(std::is_same_v<decltype(EventTracerEntry::event_id), int64_t>);
static_assert(std::is_same_v<decltype(EventTracerEntry::chain_id), ChainID>);
static_assert(std::is_same_v<decltype(EventTracerEntry::debug_handle), DebugHandle>);
static_assert(std::is_same_v<decltype(EventTracerEntry::start_time), et_timestamp_t>);
static_assert(std::is_same_v<decltype(EventTracerEntry::delegate_event_id_type), DelegateDebugIdType>);
static_assert(is<void (EventTracer::*)(const char*)>(&EventTracer::create_event_block));
static_assert(is<EventTracerEntry (EventTracer::*)(const char*, ChainID, DebugHandle)>(&EventTracer::start_profiling));
using start_profiling_default = decltype(make<EventTracer&>().start_profiling(make<const char*>()));
static_assert(
    is<EventTracerEntry (EventTracer::*)(const char*, DelegateDebugIntId)>(&EventTracer::start_profiling_delegate));
static_assert(is<void (EventTracer::*)(EventTracerEntry, const void*, size_t)>(&EventTracer::end_profiling_delegate));
using end_profiling_delegate_default = decltype(make<EventTracer&>().end_profiling_delegate(make<EventTracerEntry>()));
static_assert(is<void (EventTracer::*)(const char*, DelegateDebugIntId, et_timestamp_t, et_timestamp_t, const void*,
                                       size_t)>(&EventTracer::log_profiling_delegate));
using log_profiling_delegate_default = decltype(make<EventTracer&>().log_profiling_delegate(
    make<const char*>(), make<DelegateDebugIntId>(), make<et_timestamp_t>(), make<et_timestamp_t>()));
static_assert(is<void (EventTracer::*)(EventTracerEntry)>(&EventTracer::end_profiling));
static_assert(is<void (EventTracer::*)(AllocatorID, size_t)>(&EventTracer::track_allocation));
static_assert(is<AllocatorID (EventTracer::*)(const char*)>(&EventTracer::track_allocator));
static_assert(is<Result<bool> (EventTracer::*)(const EValue&, LoggedEValueType)>(&EventTracer::log_evalue));
static_assert(is<Result<bool> (EventTracer::*)(const char*, DelegateDebugIntId, const aten::Tensor&)>(
    &EventTracer::log_intermediate_output_delegate));
static_assert(is<Result<bool> (EventTracer::*)(const char*, DelegateDebugIntId, const ArrayRef<aten::Tensor>)>(
    &EventTracer::log_intermediate_output_delegate));
static_assert(is<Result<bool> (EventTracer::*)(const char*, DelegateDebugIntId, const int&)>(
    &EventTracer::log_intermediate_output_delegate));
static_assert(is<Result<bool> (EventTracer::*)(const char*, DelegateDebugIntId, const bool&)>(
    &EventTracer::log_intermediate_output_delegate));
static_assert(is<Result<bool> (EventTracer::*)(const char*, DelegateDebugIntId, const double&)>(
    &EventTracer::log_intermediate_output_delegate));
static_assert(
    is<void (EventTracer::*)(EventTracerFilterBase*)>(&EventTracer::set_delegation_intermediate_output_filter));
static_assert(is<void (EventTracer::*)(ChainID, DebugHandle)>(&EventTracer::set_chain_debug_handle));
static_assert(is<void (EventTracer::*)(int)>(&EventTracer::set_bundled_input_index));
static_assert(is<int (EventTracer::*)()>(&EventTracer::bundled_input_index));
static_assert(is<void (EventTracer::*)(EventTracerDebugLogLevel)>(&EventTracer::set_event_tracer_debug_level));
static_assert(is<EventTracerDebugLogLevel (EventTracer::*)()>(&EventTracer::event_tracer_debug_level));
static_assert(is<void (EventTracer::*)(EventTracerProfilingLevel)>(&EventTracer::set_event_tracer_profiling_level));
static_assert(is<EventTracerProfilingLevel (EventTracer::*)()>(&EventTracer::event_tracer_profiling_level));
static_assert(is<bool (EventTracer::*)()>(&EventTracer::intermediate_outputs_logging_status));
static_assert(is<ChainID (EventTracer::*)()>(&EventTracer::current_chain_id));
static_assert(is<DebugHandle (EventTracer::*)()>(&EventTracer::current_debug_handle));
static_assert(std::is_destructible_v<EventTracer>);
static_assert(std::is_same_v<AllocatorID, uint32_t> && std::is_same_v<ChainID, int32_t>);
static_assert(std::is_same_v<DebugHandle, uint32_t> && std::is_same_v<DelegateDebugIntId, int32_t>);
static_assert(kUnsetChainId == -1 && kUnsetDebugHandle == 0 && kUnsetDelegateDebugIntId == -1 &&
              kUnsetBundledInputIndex == -1);

}  // namespace surface
