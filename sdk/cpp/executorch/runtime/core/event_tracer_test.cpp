// SPDX-License-Identifier: BSD-3-Clause
// Compiled with ET_EVENT_TRACER_ENABLED: the hooks must call the tracer exactly when its levels require it.
#include <string>
#include <vector>

#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using namespace executorch::runtime::internal;

namespace {

class RecordingTracer final : public EventTracer {
 public:
  std::vector<std::string> calls;

  void create_event_block(const char* name) override { calls.push_back(std::string("block ") + name); }
  EventTracerEntry start_profiling(const char* name, ChainID, DebugHandle) override {
    calls.push_back(std::string("start ") + name + " of " + std::to_string(current_debug_handle()));
    return EventTracerEntry();
  }
  EventTracerEntry start_profiling_delegate(const char*, DelegateDebugIntId id) override {
    calls.push_back("start delegate " + std::to_string(id));
    return EventTracerEntry();
  }
  void end_profiling_delegate(EventTracerEntry, const void*, size_t metadata_len) override {
    calls.push_back("end delegate " + std::to_string(metadata_len));
  }
  void log_profiling_delegate(const char* name, DelegateDebugIntId, et_timestamp_t start, et_timestamp_t end,
                              const void*, size_t) override {
    calls.push_back(std::string("delegate ") + name + " took " + std::to_string(end - start));
  }
  void end_profiling(EventTracerEntry) override { calls.push_back("end"); }
  void track_allocation(AllocatorID id, size_t size) override {
    calls.push_back("allocation " + std::to_string(id) + " " + std::to_string(size));
  }
  AllocatorID track_allocator(const char*) override { return 5; }
  void log_input(size_t index, const EValue& value) override {
    calls.push_back("input " + std::to_string(index) + " " + std::to_string(value.toInt()));
  }
  Result<bool> log_evalue(const EValue& value, LoggedEValueType type) override {
    calls.push_back((type == LoggedEValueType::kProgramOutput ? "output " : "intermediate ") +
                    std::to_string(value.toInt()));
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId,
                                                const executorch::aten::Tensor&) override {
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId,
                                                const ArrayRef<executorch::aten::Tensor>) override {
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int& output) override {
    calls.push_back("delegate output " + std::to_string(output));
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) override { return true; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) override {
    return true;
  }
  void set_delegation_intermediate_output_filter(EventTracerFilterBase*) override {}
};

using Calls = std::vector<std::string>;

void run(EventTracer* tracer) {
  event_tracer_create_event_block(tracer, "execute");
  event_tracer_track_allocation(tracer, event_tracer_track_allocator(tracer, "pool"), 16);
  EventTracerProfileMethodScope method(tracer, "method");
  event_tracer_log_input(tracer, 1, EValue(int64_t(8)));
  {
    EventTracerProfileInstructionScope instruction(tracer, 0, 3);
    EventTracerProfileOpScope op(tracer, "op");
    EventTracerEntry delegate = event_tracer_start_profiling_delegate(tracer, nullptr, 7);
    event_tracer_end_profiling_delegate(tracer, delegate, "meta", 4);
    event_tracer_log_profiling_delegate(tracer, "inner", 0, 10, 15);
    event_tracer_log_output_delegate(tracer, "inner", 0, 9);
  }
  EValue value(int64_t(2));
  event_tracer_log_evalue(tracer, value);
  event_tracer_log_evalue_output(tracer, value);
  event_tracer_set_bundled_input_index(tracer, 6);
}

}  // namespace

TEST(EventTracerHooksTest, ANullTracerIsFine) {
  run(nullptr);
  EXPECT_TRUE(event_tracer_enabled());
}

TEST(EventTracerHooksTest, AllEventsAreMeasuredByDefaultAndNothingIsLogged) {
  RecordingTracer tracer;
  run(&tracer);
  EXPECT_EQ(tracer.calls, (Calls{"block execute", "allocation 5 16", "start method of 0", "start op of 3",
                                 "start delegate 7", "end delegate 4", "delegate inner took 5", "end", "end"}));
  EXPECT_EQ(tracer.bundled_input_index(), 6);
  EXPECT_EQ(tracer.current_debug_handle(), kUnsetDebugHandle);
}

TEST(EventTracerHooksTest, LevelsChooseWhatIsTraced) {
  RecordingTracer tracer;
  tracer.set_event_tracer_profiling_level(EventTracerProfilingLevel::kProfileMethodOnly);
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kProgramOutputs);
  run(&tracer);
  EXPECT_EQ(tracer.calls,
            (Calls{"block execute", "allocation 5 16", "start method of 0", "input 1 8", "output 2", "end"}));
  tracer.calls.clear();
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs);
  run(&tracer);
  EXPECT_EQ(tracer.calls, (Calls{"block execute", "allocation 5 16", "start method of 0", "input 1 8",
                                 "delegate output 9", "intermediate 2", "output 2", "end"}));
}
