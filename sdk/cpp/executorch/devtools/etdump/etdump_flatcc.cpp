// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include <executorch/devtools/etdump/emitter.h>
#include <executorch/devtools/etdump/utils.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace etdump {

using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::Error;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::Span;
using internal::kNone;
using internal::RecordKind;

namespace {

constexpr size_t kMaxKernelName = 96;

/// Combines the offset of an entry's name with the generation of the dump that the entry belongs to.
int64_t event_id(int64_t generation, uint32_t name) {
  return (generation << 32) | static_cast<int64_t>(name);
}

}  // namespace

ETDumpGen::ETDumpGen(Span<uint8_t> buffer) : log_(buffer) {
  times_kernels_ = true;
  forget_kernels();
}

ETDumpGen::~ETDumpGen() = default;

void ETDumpGen::reset() {
  log_.clear();
  num_blocks_ = 0;
  block_ = kNone;
  num_allocators_ = 0;
  forget_kernels();
  done_ = false;
  generation_ = (generation_ + 1) & INT32_MAX;
}

void ETDumpGen::forget_kernels() {
  follows_kernel_ = false;
  operator_call_ = kNone;
  std::fill(std::begin(kernel_names_), std::end(kernel_names_), KernelName{nullptr, kNone});
}

void ETDumpGen::clear_builder() {
  reset();
}

void ETDumpGen::create_event_block(const char* name) {
  if (done_) {
    reset();
  }
  forget_kernels();
  const uint32_t place = log_.name(name);
  Record record{RecordKind::Block};
  record.name = place;
  record.number = bundled_input_index_;
  block_ = log_.add(record);
  if (block_ != kNone) {
    ++num_blocks_;
    num_allocators_ = 0;
  }
}

void ETDumpGen::begin_default_block() {
  if (num_blocks_ == 0 || done_) {
    create_event_block("Default");
  }
}

uint32_t ETDumpGen::add(const Record& record, const void* data, size_t data_size) {
  follows_kernel_ = false;
  return num_blocks_ == 0 ? kNone : log_.add(record, data, data_size);
}

EventTracerEntry ETDumpGen::start_profiling(const char* name, ChainID chain_id, DebugHandle debug_handle) {
  begin_default_block();
  EventTracerEntry entry;
  const bool is_set = chain_id != ::executorch::runtime::kUnsetChainId;
  entry.event_id = event_id(generation_, log_.name(name));
  entry.chain_id = is_set ? chain_id : chain_id_;
  entry.debug_handle = is_set ? debug_handle : debug_handle_;
  entry.delegate_event_id_type = DelegateDebugIdType::kNone;
  entry.start_time = ::executorch::runtime::pal_current_ticks();
  return entry;
}

void ETDumpGen::start_kernel() {
  const bool follows =
      follows_kernel_ && kernel_end_.chain == chain_id_ && kernel_end_.instruction + 1 == debug_handle_;
  kernel_start_ = follows ? kernel_end_.time : ::executorch::runtime::pal_current_ticks();
}

void ETDumpGen::end_kernel(const void* op, void (*write_name)(const void* op, char* name, size_t size)) {
  const et_timestamp_t end = ::executorch::runtime::pal_current_ticks();
  begin_default_block();
  const uint32_t name = kernel_name(op, write_name);
  follows_kernel_ = log_.add_kernel(name, operator_call_, chain_id_, debug_handle_, kernel_start_, end);
  kernel_end_ = {chain_id_, debug_handle_, end};
}

uint32_t ETDumpGen::kernel_name(const void* op, void (*write_name)(const void* op, char* name, size_t size)) {
  // The addresses of operators are multiples of 4, and at least 12 bytes apart.
  KernelName& known = kernel_names_[static_cast<uint32_t>(reinterpret_cast<uintptr_t>(op) >> 2) * 2654435761u >> 27];
  static_assert(kKernelNames == 1 << (32 - 27), "the hash has one value for each entry of the table");
  if (known.op != op) {
    char name[kMaxKernelName];
    write_name(op, name, sizeof(name));
    known = {op, log_.name(name)};
    operator_call_ = operator_call_ == kNone ? log_.name("OPERATOR_CALL") : operator_call_;
  }
  return known.name;
}

Error ETDumpGen::check_delegate_id(const char* name, DelegateDebugIntId number) {
  ET_CHECK_OR_RETURN_ERROR((name == nullptr) != (number == kUnsetDelegateDebugIntId), InvalidArgument,
                           "an event inside a delegate is named either by a text or by an integer, found %s",
                           name == nullptr ? "neither" : "both");
  return Error::Ok;
}

EventTracerEntry ETDumpGen::start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) {
  EventTracerEntry entry = start_profiling(name);
  const bool valid = check_delegate_id(name, delegate_debug_index) == Error::Ok;
  entry.delegate_event_id_type = !valid            ? DelegateDebugIdType::kNone
                                 : name == nullptr ? DelegateDebugIdType::kInt
                                                   : DelegateDebugIdType::kStr;
  if (entry.delegate_event_id_type == DelegateDebugIdType::kInt) {
    entry.event_id = event_id(generation_, static_cast<uint32_t>(delegate_debug_index));
  }
  return entry;
}

ETDumpGen::Record ETDumpGen::profile(const EventTracerEntry& entry, et_timestamp_t end_time) const {
  Record record{RecordKind::Profile};
  record.chain = entry.chain_id;
  record.instruction = static_cast<int32_t>(entry.debug_handle);
  record.first = entry.start_time;
  record.second = end_time;
  const auto name = static_cast<uint32_t>(entry.event_id);
  switch (entry.delegate_event_id_type) {
    case DelegateDebugIdType::kNone:
      record.name = name;
      break;
    case DelegateDebugIdType::kInt:
      record.delegate_number = static_cast<int32_t>(name);
      break;
    case DelegateDebugIdType::kStr:
      record.delegate_name = name;
      break;
  }
  return record;
}

void ETDumpGen::end_profiling(EventTracerEntry prof_entry) {
  end_profiling_delegate(prof_entry, nullptr, 0);
}

void ETDumpGen::end_profiling_delegate(EventTracerEntry prof_entry, const void* metadata, size_t metadata_len) {
  if (done_ || prof_entry.event_id >> 32 != generation_) {
    return;  // the event began before the dump was fetched or reset
  }
  const et_timestamp_t end_time = ::executorch::runtime::pal_current_ticks();
  add(profile(prof_entry, end_time), metadata, metadata == nullptr ? 0 : metadata_len);
}

void ETDumpGen::log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                       et_timestamp_t start_time, et_timestamp_t end_time, const void* metadata,
                                       size_t metadata_len) {
  begin_default_block();
  Record record{RecordKind::Profile};
  record.chain = chain_id_;
  record.instruction = static_cast<int32_t>(debug_handle_);
  record.first = start_time;
  record.second = end_time;
  // An event without a valid identity is recorded as an event of the instruction, as in start_profiling_delegate().
  const bool valid = check_delegate_id(name, delegate_debug_index) == Error::Ok;
  (valid ? record.delegate_name : record.name) = log_.name(name);
  record.delegate_number = valid && name == nullptr ? delegate_debug_index : record.delegate_number;
  add(record, metadata, metadata == nullptr ? 0 : metadata_len);
}

AllocatorID ETDumpGen::track_allocator(const char* name) {
  begin_default_block();
  const uint32_t place = log_.name(name);
  Record record{RecordKind::Allocator};
  record.name = place;
  add(record);
  return static_cast<AllocatorID>(++num_allocators_);
}

void ETDumpGen::track_allocation(AllocatorID id, size_t size) {
  begin_default_block();
  Record record{RecordKind::Allocation};
  record.number = static_cast<int32_t>(id);
  record.first = size;
  add(record);
}

void ETDumpGen::set_delegation_intermediate_output_filter(EventTracerFilterBase* event_tracer_filter) {
  filter_ = event_tracer_filter;
}

Result<bool> ETDumpGen::set_debug_buffer(Span<uint8_t> buffer) {
  Result<BufferDataSink> sink = BufferDataSink::create(buffer);
  if (!sink.ok()) {
    return sink.error();
  }
  buffer_data_sink_ = std::move(sink.get());
  data_sink_ = &buffer_data_sink_;
  return true;
}

void ETDumpGen::set_data_sink(DataSinkBase* data_sink) {
  data_sink_ = data_sink;
}

ETDumpResult ETDumpGen::get_etdump_data() {
  if (num_blocks_ == 0) {
    return {nullptr, 0};
  }
  done_ = true;
  if (!log_.is_on_heap()) {
    Span<uint8_t> free_memory = log_.free_memory();
    uint8_t* const begin = internal::align_pointer(free_memory.data(), internal::kEtdumpAlignment);
    const auto skipped = static_cast<size_t>(begin - free_memory.data());
    const Span<uint8_t> dump = internal::write_etdump(log_, {begin, free_memory.size() - skipped});
    return {dump.size() == 0 ? nullptr : dump.data(), dump.size()};
  }
  const size_t bytes = log_.written_bound();
  auto* memory = static_cast<uint8_t*>(std::malloc(bytes));
  if (memory == nullptr) {
    ET_LOG(Error, "ETDump: no memory for the %zu bytes of the dump", bytes);
    return {nullptr, 0};
  }
  const Span<uint8_t> dump = internal::write_etdump(log_, {memory, bytes});
  if (dump.size() == 0) {
    std::free(memory);
    return {nullptr, 0};
  }
  std::memmove(memory, dump.data(), dump.size());
  auto* smaller = static_cast<uint8_t*>(std::realloc(memory, dump.size()));
  return {smaller == nullptr ? memory : smaller, dump.size()};
}

size_t ETDumpGen::get_num_blocks() {
  return num_blocks_;
}

DataSinkBase* ETDumpGen::get_data_sink() {
  return data_sink_;
}

bool ETDumpGen::is_static_etdump() {
  return !log_.is_on_heap();
}

}  // namespace etdump
}  // namespace executorch
