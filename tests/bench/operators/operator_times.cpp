// SPDX-License-Identifier: BSD-3-Clause
// The time of a program's operators, from the events that an ETDump would hold, on one thread unless told otherwise:
//
//     operator_times model.pte seconds [threads]
//
// The method "forward" is executed on zeros for at least `seconds`, after one execution that does not count. Prints the
// number of executions and the seconds of the fastest one, and then a line for each operator: the seconds of its
// fastest execution, its debug handle and its name, separated by tabs. For an operator inside of a delegate, these are
// the handle of a node and the backend's name of it. Otherwise the handle is the number of an instruction, and the name
// is OPERATOR_CALL for a kernel or DELEGATE_CALL for a delegate, whose time includes its operators. Needs a build with
// EXECUTORCH_ENABLE_EVENT_TRACER.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <executorch/extension/module/module.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "../zeros.h"

namespace {

using namespace executorch::runtime;
using executorch::extension::Module;

double seconds_between(et_timestamp_t start, et_timestamp_t end) {
  const auto ratio = et_pal_ticks_to_ns_multiplier();
  return static_cast<double>(end - start) * static_cast<double>(ratio.numerator) /
         static_cast<double>(ratio.denominator) * 1e-9;
}

/// Adds up the times of events with the same name and handle in an execution, and keeps the least of all executions.
class Sums final : public EventTracer {
 public:
  using Operator = std::pair<int64_t, std::string>;

  EventTracerEntry start_profiling(const char* name, ChainID, DebugHandle handle) override {
    EventTracerEntry entry{};
    names_.emplace_back(name);
    entry.event_id = static_cast<int64_t>(names_.size()) - 1;
    entry.debug_handle = handle == kUnsetDebugHandle ? current_debug_handle() : handle;
    entry.start_time = et_pal_current_ticks();
    return entry;
  }
  void end_profiling(EventTracerEntry entry) override {
    const std::string& name = names_[static_cast<size_t>(entry.event_id)];
    if (name == "OPERATOR_CALL" || name == "DELEGATE_CALL") {
      now_[{entry.debug_handle, name}] += seconds_between(entry.start_time, et_pal_current_ticks());
    }
  }
  void log_profiling_delegate(const char* name, DelegateDebugIntId id, et_timestamp_t start, et_timestamp_t end,
                              const void* metadata, size_t size) override {
    const bool is_named = metadata == nullptr || size == 0;
    const std::string text =
        is_named ? (name == nullptr ? "" : name) : std::string(static_cast<const char*>(metadata), size);
    now_[{id, text}] += seconds_between(start, end);
  }
  /// An execution has ended. One that does not count is forgotten.
  void end_execution(bool counts) {
    for (const auto& [key, seconds] : now_) {
      if (counts) {
        const auto [found, is_new] = least.emplace(key, seconds);
        found->second = is_new ? seconds : std::min(found->second, seconds);
      }
    }
    now_.clear();
    names_.clear();
  }

  void create_event_block(const char*) override {}
  EventTracerEntry start_profiling_delegate(const char*, DelegateDebugIntId) override { return {}; }
  void end_profiling_delegate(EventTracerEntry, const void*, size_t) override {}
  void track_allocation(AllocatorID, size_t) override {}
  AllocatorID track_allocator(const char*) override { return 0; }
  Result<bool> log_evalue(const EValue&, LoggedEValueType) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId,
                                                const executorch::aten::Tensor&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId,
                                                ArrayRef<executorch::aten::Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int&) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) override { return false; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(EventTracerFilterBase*) override {}

  std::map<Operator, double> least;

 private:
  std::map<Operator, double> now_;
  std::vector<std::string> names_;
};

}  // namespace

int main(int argc, char** argv) {
  const long threads = argc == 4 ? std::strtol(argv[3], nullptr, 10) : 1;
  if (argc < 3 || argc > 4 || threads < 1) {
    std::fprintf(stderr, "usage: operator_times model.pte seconds [threads]\n");
    return 1;
  }
  if (!internal::event_tracer_enabled()) {
    std::fprintf(stderr, "operator_times cannot trace: build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON\n");
    return 1;
  }
  runtime_init();
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(static_cast<uint32_t>(threads));
  auto owned = std::make_unique<Sums>();
  Sums& sums = *owned;
  sums.set_event_tracer_profiling_level(EventTracerProfilingLevel::kProfileAllEvents);
  Module module(argv[1], Module::LoadMode::Mmap, std::move(owned));
  const auto meta = module.method_meta("forward");
  executorch::bench::Zeros inputs;
  if (!meta.ok() || !inputs.make(*meta) || !module.forward(inputs.values).ok()) {
    std::fprintf(stderr, "%s has no method \"forward\" that can be executed on zeros\n", argv[1]);
    return 1;
  }
  sums.end_execution(false);
  const double wanted = std::atof(argv[2]);
  const et_timestamp_t start = et_pal_current_ticks();
  double fastest = std::numeric_limits<double>::infinity();
  int count = 0;
  for (et_timestamp_t before = start, now = start; seconds_between(start, now) < wanted; before = now, ++count) {
    if (!module.forward(inputs.values).ok()) {
      return 1;
    }
    now = et_pal_current_ticks();
    fastest = std::min(fastest, seconds_between(before, now));
    sums.end_execution(true);
  }
  std::printf("%d\t%.9f\n", count, fastest);
  for (const auto& [key, seconds] : sums.least) {
    std::printf("%.9f\t%" PRId64 "\t%s\n", seconds, key.first, key.second.c_str());
  }
  return 0;
}
