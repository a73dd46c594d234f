// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/tracer.h>

#include <string>
#include <vector>

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace extension {
namespace c_api {

using runtime::AllocatorID;
using runtime::ChainID;
using runtime::DebugHandle;
using runtime::DelegateDebugIdType;
using runtime::DelegateDebugIntId;
using runtime::EValue;
using runtime::EventTracerEntry;
using runtime::EventTracerProfilingLevel;
using runtime::kUnsetChainId;
using runtime::kUnsetDebugHandle;
using runtime::kUnsetDelegateDebugIntId;
using runtime::LoggedEValueType;
using runtime::Result;

namespace {

uint64_t nanoseconds(et_timestamp_t ticks) {
  const et_tick_ratio_t ratio = runtime::pal_ticks_to_ns_multiplier();
  return ratio.denominator == 0 ? 0 : ticks * ratio.numerator / ratio.denominator;
}

class EventSinkTracer final : public runtime::EventTracer {
 public:
  EventSinkTracer(et_event_sink sink, void* context, bool all_events) : sink_(sink), context_(context) {
    set_event_tracer_profiling_level(all_events ? EventTracerProfilingLevel::kProfileAllEvents
                                                : EventTracerProfilingLevel::kProfileMethodOnly);
  }

  void create_event_block(const char*) override { open_.clear(); }

  EventTracerEntry start_profiling(const char* name, ChainID chain_id, DebugHandle debug_handle) override {
    return start(name, kUnsetDelegateDebugIntId, chain_id, debug_handle, DelegateDebugIdType::kNone);
  }

  void end_profiling(EventTracerEntry entry) override { end(entry, nullptr, 0); }

  EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId id) override {
    return start(name, id, kUnsetChainId, kUnsetDebugHandle,
                 name != nullptr ? DelegateDebugIdType::kStr : DelegateDebugIdType::kInt);
  }

  void end_profiling_delegate(EventTracerEntry entry, const void* metadata, size_t metadata_len) override {
    end(entry, metadata, metadata_len);
  }

  void log_profiling_delegate(const char* name, DelegateDebugIntId id, et_timestamp_t start_time,
                              et_timestamp_t end_time, const void* metadata, size_t metadata_len) override {
    report(et_event{name, id, current_chain_id(), current_debug_handle(), 1, start_time, end_time,
                    et_span{metadata, metadata_len}});
  }

  void track_allocation(AllocatorID, size_t) override {}
  AllocatorID track_allocator(const char*) override { return 0; }

  // Values are not reported.
  Result<bool> log_evalue(const EValue&, LoggedEValueType) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const aten::Tensor&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId,
                                                const runtime::ArrayRef<aten::Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int&) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}

 private:
  /// An event that has started. Names need to live only until start_profiling() returns.
  struct Open {
    std::string name;
    bool has_name;
    DelegateDebugIntId delegate_id;
  };

  EventTracerEntry start(const char* name, DelegateDebugIntId delegate_id, ChainID chain_id, DebugHandle debug_handle,
                         DelegateDebugIdType id_type) {
    EventTracerEntry entry;
    entry.event_id = static_cast<int64_t>(open_.size());
    entry.chain_id = chain_id != kUnsetChainId ? chain_id : current_chain_id();
    entry.debug_handle = debug_handle != kUnsetDebugHandle ? debug_handle : current_debug_handle();
    entry.delegate_event_id_type = id_type;
    open_.push_back({name != nullptr ? name : "", name != nullptr, delegate_id});
    entry.start_time = runtime::pal_current_ticks();
    return entry;
  }

  void end(const EventTracerEntry& entry, const void* metadata, size_t metadata_len) {
    const et_timestamp_t now = runtime::pal_current_ticks();
    if (entry.event_id < 0 || static_cast<size_t>(entry.event_id) >= open_.size()) {
      return;  // not an open event of the current block
    }
    const Open event = open_[static_cast<size_t>(entry.event_id)];
    // Events nest, so events that began later have ended or will never end.
    open_.resize(static_cast<size_t>(entry.event_id));
    report(et_event{event.has_name ? event.name.c_str() : nullptr, event.delegate_id, entry.chain_id,
                    entry.debug_handle, 0, nanoseconds(entry.start_time), nanoseconds(now),
                    et_span{metadata, metadata_len}});
  }

  void report(const et_event& event) { sink_(&event, context_); }

  et_event_sink sink_;
  void* context_;
  std::vector<Open> open_;
};

}  // namespace

std::unique_ptr<runtime::EventTracer> make_event_sink_tracer(const et_options& options) {
  return std::make_unique<EventSinkTracer>(options.event_sink, options.event_context, options.all_events);
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
