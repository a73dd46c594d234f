// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * EventTracer: the interface through which the executor, kernels and delegates report times and values. ETDumpGen
 * (devtools/etdump) implements it. The runtime calls it through event_tracer_hooks.h only.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {

/// Identity of an allocator that is tracked.
typedef uint32_t AllocatorID;
/// Index of a chain of instructions in a method.
typedef int32_t ChainID;
/// Index of an instruction in its chain; with it, an ETRecord finds the source.
typedef uint32_t DebugHandle;
/// Identity of an event inside a delegate, when it is an integer.
typedef int32_t DelegateDebugIntId;

constexpr ChainID kUnsetChainId = -1;
constexpr DebugHandle kUnsetDebugHandle = 0;
constexpr DelegateDebugIntId kUnsetDelegateDebugIntId = -1;
/// The index if no bundled input is used.
constexpr int kUnsetBundledInputIndex = -1;

/// How a delegate names its events.
enum class DelegateDebugIdType {
  kNone,  ///< Not an event of a delegate.
  kInt,   ///< Identified by a DelegateDebugIntId.
  kStr,   ///< Identified by a string.
};

/// The kind of a logged value.
enum class LoggedEValueType {
  kIntermediateOutput,
  kProgramOutput,
};

/// Which values are logged.
enum class EventTracerDebugLogLevel {
  kNoLogging,
  kProgramOutputs,
  kIntermediateOutputs,  ///< Outputs of every instruction, and the program's.
};

/// Which times are measured.
enum class EventTracerProfilingLevel {
  kProfileMethodOnly,
  kProfileAllEvents,
};

/// Decides which intermediate outputs of delegates are logged.
class EventTracerFilterBase {
 public:
  /**
   * @param name Name of the event, null when it has an integer identity.
   * @param delegate_debug_index Its integer identity, kUnsetDelegateDebugIntId when it has a name.
   * @return true when the output is to be logged.
   */
  virtual Result<bool> filter(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
  virtual ~EventTracerFilterBase() = default;
};

/// Handle of a running event, from start_profiling() to end_profiling().
struct EventTracerEntry {
  int64_t event_id;  ///< Set by the implementation.
  ChainID chain_id;
  DebugHandle debug_handle;
  et_timestamp_t start_time;
  DelegateDebugIdType delegate_event_id_type;
};

/**
 * Receives the events and values of a running method. Names are copied or used before the call returns; times are
 * platform ticks. `metadata` is a blob that the delegate's own tools understand; it is copied.
 */
class EventTracer {
 public:
  /// Starts a block; all events until the next call belong to it. Usually one for each execution.
  virtual void create_event_block(const char* name) = 0;

  /// Starts an event at the current time. Unset identities are replaced by those of set_chain_debug_handle().
  virtual EventTracerEntry start_profiling(const char* name, ChainID chain_id = kUnsetChainId,
                                           DebugHandle debug_handle = kUnsetDebugHandle) = 0;
  /// Starts an event inside a delegate. Exactly one of `name` (not null) and `delegate_debug_index` (set) names it.
  virtual EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
  virtual void end_profiling_delegate(EventTracerEntry event_tracer_entry, const void* metadata = nullptr,
                                      size_t metadata_len = 0) = 0;
  /// Records an event whose times the delegate measured itself, in its own unit.
  virtual void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                      et_timestamp_t start_time, et_timestamp_t end_time,
                                      const void* metadata = nullptr, size_t metadata_len = 0) = 0;
  virtual void end_profiling(EventTracerEntry prof_entry) = 0;

  /// Whether the executor calls start_kernel() and end_kernel() for each kernel. They replace two nested pairs of
  /// start_profiling() and end_profiling(): "OPERATOR_CALL" and, inside of it, the kernel's name.
  bool times_kernels() const { return times_kernels_; }
  /// The kernel of the instruction of set_chain_debug_handle() starts.
  virtual void start_kernel() {}
  /**
   * The kernel has ended.
   *
   * @param op Identifies the operator until the next create_event_block().
   * @param write_name Writes the name of `op`, with a terminating null: at most `size` bytes.
   */
  virtual void end_kernel(const void* op, void (*write_name)(const void* op, char* name, size_t size)) {
    (void)op;
    (void)write_name;
  }

  /// Records an allocation of `size` bytes.
  virtual void track_allocation(AllocatorID id, size_t size) = 0;
  virtual AllocatorID track_allocator(const char* name) = 0;

  /// Logs a value. False when it was filtered out; an error when it could not be stored.
  virtual Result<bool> log_evalue(const EValue& evalue, LoggedEValueType evalue_type) = 0;

  /// Logs an output inside a delegate, named as in start_profiling_delegate().
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const aten::Tensor& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const ArrayRef<aten::Tensor> output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const int& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const bool& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const double& output) = 0;

  /// The filter must outlive the tracer; null removes it.
  virtual void set_delegation_intermediate_output_filter(EventTracerFilterBase* event_tracer_filter) = 0;

  /// Says which instruction runs. Called by the executor.
  void set_chain_debug_handle(ChainID chain_id, DebugHandle debug_handle) {
    chain_id_ = chain_id;
    debug_handle_ = debug_handle;
  }
  /// Says which bundled input is in use; kUnsetBundledInputIndex for none.
  void set_bundled_input_index(int bundled_input_index) { bundled_input_index_ = bundled_input_index; }
  int bundled_input_index() { return bundled_input_index_; }

  void set_event_tracer_debug_level(EventTracerDebugLogLevel log_level) { event_tracer_debug_level_ = log_level; }
  EventTracerDebugLogLevel event_tracer_debug_level() { return event_tracer_debug_level_; }
  void set_event_tracer_profiling_level(EventTracerProfilingLevel profiling_level) {
    event_tracer_profiling_level_ = profiling_level;
  }
  EventTracerProfilingLevel event_tracer_profiling_level() { return event_tracer_profiling_level_; }

  /// True when the outputs of instructions are logged.
  bool intermediate_outputs_logging_status() {
    return event_tracer_debug_level_ == EventTracerDebugLogLevel::kIntermediateOutputs;
  }
  ChainID current_chain_id() { return chain_id_; }
  DebugHandle current_debug_handle() { return debug_handle_; }

  virtual ~EventTracer() {}

  /// Receives an input of an execution before its first instruction, if values are logged. `index` counts from 0.
  virtual void log_input(size_t index, const EValue& value) {
    (void)index;
    (void)value;
  }

 protected:
  ChainID chain_id_ = kUnsetChainId;
  DebugHandle debug_handle_ = kUnsetDebugHandle;
  int bundled_input_index_ = kUnsetBundledInputIndex;
  EventTracerDebugLogLevel event_tracer_debug_level_ = EventTracerDebugLogLevel::kNoLogging;
  EventTracerProfilingLevel event_tracer_profiling_level_ = EventTracerProfilingLevel::kProfileAllEvents;
  bool times_kernels_ = false;  ///< Set by subclasses that override start_kernel() and end_kernel().
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::EventTracer;
using ::executorch::runtime::EventTracerDebugLogLevel;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::kUnsetChainId;
using ::executorch::runtime::kUnsetDebugHandle;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::LoggedEValueType;
}  // namespace executor
}  // namespace torch
