// SPDX-License-Identifier: BSD-3-Clause
// The event tracer gets an event for each operator of a delegate, with the debug handle of its node in the exported
// graph.
#include "profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "paths.h"
#include "threads/sharing.h"

namespace executorch {
namespace backends {
namespace xnnpack {
using executorch::tests::kCorpusFolder;

namespace {

using runtime::EventTracerEntry;
using runtime::Result;

struct Event {
  std::string name;  // "" for events with a number
  runtime::DelegateDebugIntId id;
  et_timestamp_t start, end;
  std::string metadata;
};

struct LoggedValue {
  runtime::DelegateDebugIntId id;
  std::vector<int32_t> sizes;
  std::vector<float> elements;
};

/// Records the events of delegates.
class RecordingTracer final : public runtime::EventTracer {
 public:
  void log_profiling_delegate(const char* name, runtime::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, size_t size) override {
    events.push_back({name == nullptr ? "" : name, id, start, end,
                      metadata == nullptr ? "" : std::string(static_cast<const char*>(metadata), size)});
  }

  void create_event_block(const char*) override {}
  EventTracerEntry start_profiling(const char*, runtime::ChainID, runtime::DebugHandle) override { return {}; }
  EventTracerEntry start_profiling_delegate(const char*, runtime::DelegateDebugIntId) override { return {}; }
  void end_profiling_delegate(EventTracerEntry, const void*, size_t) override {}
  void end_profiling(EventTracerEntry) override {}
  void track_allocation(runtime::AllocatorID, size_t) override {}
  runtime::AllocatorID track_allocator(const char*) override { return 0; }
  Result<bool> log_evalue(const runtime::EValue&, runtime::LoggedEValueType) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId id,
                                                const aten::Tensor& tensor) override {
    const float* const data = tensor.const_data_ptr<float>();
    values.push_back({id, {tensor.sizes().begin(), tensor.sizes().end()}, {data, data + tensor.numel()}});
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId,
                                                runtime::ArrayRef<aten::Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const int&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const bool&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, runtime::DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(runtime::EventTracerFilterBase*) override {}

  std::vector<Event> events;
  std::vector<LoggedValue> values;
};

struct DeleteSubgraph {
  void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
};
struct DeleteRuntime {
  void operator()(xnn_runtime_t runtime) const { xnn_delete_runtime(runtime); }
};

// XNN-17, DEL-21
TEST(Profile, EveryOperatorOfXnnpackIsAnEvent) {
  runtime::runtime_init();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  xnn_subgraph_t made = nullptr;
  ASSERT_EQ(xnn_create_subgraph(2, 0, &made), xnn_status_success);
  const std::unique_ptr<struct xnn_subgraph, DeleteSubgraph> subgraph(made);
  const size_t sizes[] = {64, 64};
  uint32_t in = 0, inner = 0, out = 0;
  const auto define = [&](uint32_t external, uint32_t flags, uint32_t* id) {
    return xnn_define_tensor_value(made, xnn_datatype_fp32, 2, sizes, nullptr, external, flags, id);
  };
  ASSERT_EQ(define(0, XNN_VALUE_FLAG_EXTERNAL_INPUT, &in), xnn_status_success);
  ASSERT_EQ(define(1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &out), xnn_status_success);
  ASSERT_EQ(define(XNN_INVALID_VALUE_ID, 0, &inner), xnn_status_success);
  EXPECT_EQ(node_count(made), 0u);
  ASSERT_EQ(xnn_define_softmax(made, in, inner, 0), xnn_status_success);
  ASSERT_EQ(xnn_define_unary(made, xnn_unary_exp, nullptr, inner, out, 0), xnn_status_success);
  EXPECT_EQ(node_count(made), 2u);
  xnn_runtime_t created = nullptr;
  ASSERT_EQ(xnn_create_runtime_v2(made, nullptr, 0, &created), xnn_status_success);
  const std::unique_ptr<struct xnn_runtime, DeleteRuntime> owner(created);
  std::vector<float> numbers(64 * 64, 0.5f), results(64 * 64);
  const xnn_external_value externals[] = {{in, numbers.data()}, {out, results.data()}};
  ASSERT_EQ(xnn_setup_runtime(created, 2, externals), xnn_status_success);
  set_profiling(created, true);
  const et_timestamp_t start = et_pal_current_ticks();
  ASSERT_EQ(invoke(created, {{false, true}}, Rest::Asleep), xnn_status_success);
  const et_timestamp_t end = et_pal_current_ticks();

  RecordingTracer tracer;
  OperatorLog().write(tracer, created, start, {{7, nullptr}, {0, nullptr}});
  ASSERT_EQ(tracer.events.size(), 2u);
  const Event& softmax = tracer.events[0];
  EXPECT_EQ(softmax.id, 7);
  EXPECT_EQ(softmax.name, "");
  EXPECT_NE(softmax.metadata.find("Softmax"), std::string::npos) << softmax.metadata;
  const Event& exponential = tracer.events[1];
  EXPECT_EQ(exponential.id, runtime::kUnsetDelegateDebugIntId) << "its node has no handle";
  EXPECT_NE(exponential.name.find("Unary"), std::string::npos) << exponential.name;
  EXPECT_EQ(softmax.start, start);
  EXPECT_LT(softmax.start, softmax.end);
  EXPECT_EQ(softmax.end, exponential.start);
  EXPECT_LE(exponential.end, end);
}

// Three operators share the memory of two values, so each result must be logged before the next operator runs. The last
// clamp is fused into the addition before it, whose logged value is then that of the clamp.
TEST(Profile, ValuesAreLoggedAsTheyAreComputed) {
  runtime::runtime_init();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  xnn_subgraph_t made = nullptr;
  ASSERT_EQ(xnn_create_subgraph(2, 0, &made), xnn_status_success);
  const std::unique_ptr<struct xnn_subgraph, DeleteSubgraph> subgraph(made);
  const size_t sizes[] = {2, 33};
  uint32_t ids[5] = {};
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t external = i == 0 ? 0 : i == 4 ? 1 : XNN_INVALID_VALUE_ID;
    const uint32_t flags = i == 0 ? XNN_VALUE_FLAG_EXTERNAL_INPUT : i == 4 ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0;
    ASSERT_EQ(xnn_define_tensor_value(made, xnn_datatype_fp32, 2, sizes, nullptr, external, flags, &ids[i]),
              xnn_status_success);
  }
  ASSERT_EQ(xnn_define_unary(made, xnn_unary_negate, nullptr, ids[0], ids[1], 0), xnn_status_success);
  ASSERT_EQ(xnn_define_unary(made, xnn_unary_square, nullptr, ids[1], ids[2], 0), xnn_status_success);
  ASSERT_EQ(xnn_define_binary(made, xnn_binary_add, nullptr, ids[2], ids[1], ids[3], 0), xnn_status_success);
  xnn_unary_params limits{};
  limits.clamp = {-1, 6};
  ASSERT_EQ(xnn_define_unary(made, xnn_unary_clamp, &limits, ids[3], ids[4], 0), xnn_status_success);
  EXPECT_EQ(outputs_of(made, 1), std::vector<uint32_t>{ids[2]});
  xnn_runtime_t created = nullptr;
  ASSERT_EQ(xnn_create_runtime_v2(made, nullptr, 0, &created), xnn_status_success);
  const std::unique_ptr<struct xnn_runtime, DeleteRuntime> owner(created);
  std::vector<float> numbers(66), results(66);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i) / 16 - 2;
  }
  const xnn_external_value externals[] = {{ids[0], numbers.data()}, {ids[4], results.data()}};
  ASSERT_EQ(xnn_setup_runtime(created, 2, externals), xnn_status_success);
  RecordingTracer tracer;
  std::vector<uint32_t> handles(8);  // arguments have the first numbers
  for (uint32_t i = 1; i < 5; ++i) {
    handles[ids[i]] = 10 + i;
  }
  ValueLogger logger(tracer, created, handles);
  ASSERT_EQ(invoke(created, {std::vector<bool>(4, true)}, Rest::Asleep, &logger), xnn_status_success);

  ASSERT_GE(tracer.values.size(), 3u);
  EXPECT_EQ(tracer.values.front().id, 11);
  EXPECT_EQ(tracer.values.back().id, 14);
  EXPECT_EQ(tracer.values.back().elements, results);
  for (const LoggedValue& value : tracer.values) {
    EXPECT_EQ(value.sizes, (std::vector<int32_t>{2, 33}));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const float x = -numbers[i], sum = x * x + x;
      const float expected = value.id == 11 ? x : value.id == 12 ? x * x : value.id == 13 ? sum : std::min(sum, 6.0f);
      EXPECT_EQ(value.elements[i], expected) << value.id;
    }
  }
}

// XNN-17, RTB-09
TEST(Profile, AProgramLogsWhatRunsInItsDelegates) {
  auto owned = std::make_unique<RecordingTracer>();
  const auto& tracer = *owned;
  extension::Module module(std::string(kCorpusFolder) + "/linear_xnn/model.pte", extension::Module::LoadMode::File,
                           std::move(owned));
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  const auto sizes = meta->input_tensor_meta(0)->sizes();
  ASSERT_TRUE(module.forward(extension::ones({sizes.begin(), sizes.end()})).ok());
  if (!runtime::internal::event_tracer_enabled()) {
    EXPECT_TRUE(tracer.events.empty());
    return;
  }
  ASSERT_FALSE(tracer.events.empty());
  for (const Event& event : tracer.events) {
    EXPECT_NE(event.metadata + event.name, "");
    EXPECT_LE(event.start, event.end);
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
