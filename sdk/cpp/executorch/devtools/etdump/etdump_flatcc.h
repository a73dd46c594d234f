// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>
#include <executorch/devtools/etdump/event_log.h>
#include <executorch/devtools/etdump/input_digest.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

/// The version of the format that is written.
#define ETDUMP_VERSION 0

namespace executorch {
namespace etdump {

using ::executorch::runtime::DelegateDebugIntId;
using ::executorch::runtime::EventTracerFilterBase;
using ::executorch::runtime::Result;

/// An ETDump: a size-prefixed flatbuffer. The Inspector reads it from a file (`.etdp`).
struct ETDumpResult {
  void* buf;
  size_t size;
};

/**
 * An EventTracer that writes an ETDump of the events that it receives:
 *
 *     ETDumpGen etdump;
 *     Result<Method> method = program->load_method("forward", &memory_manager, &etdump);
 *     ...
 *     ETDumpResult result = etdump.get_etdump_data();
 *     ...                       // write result.size bytes at result.buf, if there are any
 *     free(result.buf);
 *
 * The clock is read once for each kernel: its two events, "OPERATOR_CALL" and the one with the kernel's name, have the
 * same times, and if the next instruction is a kernel, too, its events begin when these end.
 *
 * The runtime must be compiled with ET_EVENT_TRACER_ENABLED (CMake option EXECUTORCH_ENABLE_EVENT_TRACER); otherwise
 * the tracer receives no events. Events without a block begin one called "Default". When memory runs out, which is
 * logged, later events are left out and the dump holds what came before. Not thread safe.
 */
class ETDumpGen : public ::executorch::runtime::EventTracer {
 public:
  /// Keeps all events in `buffer`, which must outlive the object, without the heap; without a buffer, on the heap.
  ETDumpGen(::executorch::runtime::Span<uint8_t> buffer = {nullptr, (size_t)0});
  ~ETDumpGen() override;
  ETDumpGen(const ETDumpGen&) = delete;
  ETDumpGen& operator=(const ETDumpGen&) = delete;

  /// The same as reset().
  void clear_builder();

  void create_event_block(const char* name) override;
  ::executorch::runtime::EventTracerEntry start_profiling(const char* name,
                                                          ::executorch::runtime::ChainID chain_id = -1,
                                                          ::executorch::runtime::DebugHandle debug_handle = 0) override;
  void end_profiling(::executorch::runtime::EventTracerEntry prof_entry) override;
  void start_kernel() override;
  void end_kernel(const void* op, void (*write_name)(const void* op, char* name, size_t size)) override;
  ::executorch::runtime::EventTracerEntry start_profiling_delegate(const char* name,
                                                                   DelegateDebugIntId delegate_debug_index) override;
  void end_profiling_delegate(::executorch::runtime::EventTracerEntry prof_entry, const void* metadata,
                              size_t metadata_len) override;
  void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index, et_timestamp_t start_time,
                              et_timestamp_t end_time, const void* metadata, size_t metadata_len) override;
  void track_allocation(::executorch::runtime::AllocatorID id, size_t size) override;
  ::executorch::runtime::AllocatorID track_allocator(const char* name) override;

  /// Adds an input to the digest of the block. With it, tools check that their inputs are those of the run.
  void log_input(size_t index, const ::executorch::runtime::EValue& value) override;

  /// Returns true if the value is logged. Values in the memory of a device, None, texts and lists of other values than
  /// tensors are not logged. Errors: InvalidState for a tensor without a data sink; the errors of the data sink;
  /// OutOfResources if the event does not fit; MemoryAllocationFailed.
  Result<bool> log_evalue(const ::executorch::runtime::EValue& evalue,
                          ::executorch::runtime::LoggedEValueType evalue_type =
                              ::executorch::runtime::LoggedEValueType::kIntermediateOutput) override;

  /// Returns true if the output is logged, false if the filter leaves it out. Errors: InvalidArgument unless the output
  /// has either a name or an integer; the errors of log_evalue().
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const executorch::aten::Tensor& output) override;
  Result<bool> log_intermediate_output_delegate(
      const char* name, DelegateDebugIntId delegate_debug_index,
      const ::executorch::runtime::ArrayRef<executorch::aten::Tensor> output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const int& output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const bool& output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const double& output) override;
  void set_delegation_intermediate_output_filter(EventTracerFilterBase* event_tracer_filter) override;

  /// Puts the elements of logged tensors into `buffer`, which must outlive it. Returns true.
  Result<bool> set_debug_buffer(::executorch::runtime::Span<uint8_t> buffer);

  /// Puts the elements of logged tensors into `data_sink`, which must outlive it.
  void set_data_sink(DataSinkBase* data_sink);

  /// The dump of all blocks; a null pointer and 0 without blocks or memory. The caller must free() a dump on the heap;
  /// one in a buffer is valid until the next event. The next block begins a new dump.
  ETDumpResult get_etdump_data();

  /// Number of blocks so far.
  size_t get_num_blocks();

  /// The data sink that was set, or null.
  DataSinkBase* get_data_sink();

  /// Whether the events are kept in a buffer of the application.
  bool is_static_etdump();

  /// Forgets all events.
  void reset();

 private:
  using Record = internal::Record;

  /// The next kernel reads the clock when it starts, and names are looked up again.
  void forget_kernels();
  /// Begins the block "Default" if an event comes without a block.
  void begin_default_block();
  /// Checks that an event inside a delegate has either a name or a number; logs an error if not.
  static ::executorch::runtime::Error check_delegate_id(const char* name, DelegateDebugIntId number);
  /// Adds a record to a block.
  uint32_t add(const Record& record, const void* data = nullptr, size_t data_size = 0);
  Record profile(const ::executorch::runtime::EventTracerEntry& entry, et_timestamp_t end_time) const;
  Result<bool> log_value(Record record, const ::executorch::runtime::EValue& value);
  Result<bool> log_tensors(Record record, const executorch::aten::Tensor* tensors, size_t count);
  Result<bool> begin_delegate_output(const char* name, DelegateDebugIntId delegate_debug_index, Record* record);
  Result<bool> log_delegate_value(const char* name, DelegateDebugIntId delegate_debug_index,
                                  const ::executorch::runtime::EValue& value);

  internal::EventLog log_;
  /// Returns the offset of the name of a kernel's event in this block.
  uint32_t kernel_name(const void* op, void (*write_name)(const void* op, char* name, size_t size));

  et_timestamp_t kernel_start_ = 0;
  /// The last event, if it is a kernel's: the next kernel begins when it ended.
  struct KernelEnd {
    ::executorch::runtime::ChainID chain;
    ::executorch::runtime::DebugHandle instruction;
    et_timestamp_t time;
  };
  bool follows_kernel_ = false;
  KernelEnd kernel_end_{};
  /// Offsets of kernel names in the block, by a hash of the operators' addresses.
  struct KernelName {
    const void* op;
    uint32_t name;
  };
  static constexpr size_t kKernelNames = 32;
  KernelName kernel_names_[kKernelNames];
  uint32_t operator_call_ = internal::kNone;  ///< Offset of the name "OPERATOR_CALL".
  size_t num_blocks_ = 0;
  uint32_t block_ = internal::kNone;  ///< Offset of the block.
  internal::InputDigest inputs_;      ///< Digest of the block's inputs.
  int32_t num_allocators_ = 0;        ///< Number of allocators in the block.
  /// Whether the dump was fetched.
  bool done_ = false;
  /// Distinguishes the entries of a dump from those of earlier ones.
  int64_t generation_ = 0;
  BufferDataSink buffer_data_sink_;
  DataSinkBase* data_sink_ = nullptr;
  EventTracerFilterBase* filter_ = nullptr;
};

}  // namespace etdump
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::etdump::ETDumpGen;
using ::executorch::etdump::ETDumpResult;
using etdump_result = ::executorch::etdump::ETDumpResult;
}  // namespace executor
}  // namespace torch
