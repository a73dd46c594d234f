// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include <executorch/devtools/etdump/emitter.h>
#include <executorch/devtools/etdump/utils.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/schema/etdump_generated.h>

namespace executorch {
namespace etdump {

using ::executorch::aten::Tensor;
using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::Error;
using ::executorch::runtime::EValue;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::kTensorDimensionLimit;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::LoggedEValueType;
using ::executorch::runtime::Span;
using ::executorch::runtime::Tag;
using internal::kNone;
using internal::LoggedTensor;
using internal::RecordKind;

namespace {

constexpr size_t kMaxLoggedTensorBytes = sizeof(LoggedTensor) + 2 * kTensorDimensionLimit * sizeof(int64_t);

/// Events of the executor: an instruction that calls a kernel, and the kernel inside of it.
enum class Measured : uint8_t { Other, Operator, Kernel };

Measured measured(const char* name) {
  constexpr char kKernel[] = "native_call_";
  return std::strncmp(name, kKernel, sizeof(kKernel) - 1) == 0 ? Measured::Kernel
         : std::strcmp(name, "OPERATOR_CALL") == 0             ? Measured::Operator
                                                               : Measured::Other;
}

/// The event_id of an entry is where its name is, and which dump that belongs to.
int64_t event_id(int64_t generation, uint32_t name) {
  return (generation << 32) | static_cast<int64_t>(name);
}

Error check_delegate_id(const char* name, DelegateDebugIntId number) {
  ET_CHECK_OR_RETURN_ERROR((name == nullptr) != (number == kUnsetDelegateDebugIntId), InvalidArgument,
                           "an event inside a delegate is named either by a text or by an integer, found %s",
                           name == nullptr ? "neither" : "both");
  return Error::Ok;
}

/// Describes a tensor whose elements are at `offset`. Returns the bytes of it.
size_t describe(const Tensor& tensor, size_t offset, uint8_t* to) {
  LoggedTensor logged{static_cast<int32_t>(tensor.scalar_type()), static_cast<uint32_t>(tensor.dim()), 0,
                      static_cast<int64_t>(offset)};
  std::memcpy(to, &logged, sizeof(logged));
  size_t bytes = sizeof(logged);
  const auto put = [&](int64_t number) {
    std::memcpy(to + bytes, &number, sizeof(number));
    bytes += sizeof(number);
  };
  for (const auto size : tensor.sizes()) {
    put(size);
  }
  for (const auto stride : tensor.strides()) {
    put(stride);
  }
  return bytes;
}

}  // namespace

ETDumpGen::ETDumpGen(Span<uint8_t> buffer) : log_(buffer) {}

ETDumpGen::~ETDumpGen() = default;

void ETDumpGen::reset() {
  log_.clear();
  num_blocks_ = 0;
  num_allocators_ = 0;
  boundary_ = {};
  operator_name_ = kernel_name_ = kNone;
  done_ = false;
  generation_ = (generation_ + 1) & INT32_MAX;
}

void ETDumpGen::clear_builder() {
  reset();
}

void ETDumpGen::create_event_block(const char* name) {
  if (done_) {
    reset();
  }
  boundary_ = {};
  operator_name_ = kernel_name_ = kNone;
  const uint32_t place = log_.name(name);
  Record record{RecordKind::Block};
  record.name = place;
  record.number = bundled_input_index_;
  if (log_.add(record) != kNone) {
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
  boundary_.kind = Boundary::None;
  return num_blocks_ == 0 ? kNone : log_.add(record, data, data_size);
}

EventTracerEntry ETDumpGen::start_profiling(const char* name, ChainID chain_id, DebugHandle debug_handle) {
  begin_default_block();
  EventTracerEntry entry;
  const bool is_set = chain_id != ::executorch::runtime::kUnsetChainId;
  const Measured what = is_set || name == nullptr ? Measured::Other : measured(name);
  entry.event_id = event_id(generation_, log_.name(name));
  entry.chain_id = is_set ? chain_id : chain_id_;
  entry.debug_handle = is_set ? debug_handle : debug_handle_;
  entry.delegate_event_id_type = DelegateDebugIdType::kNone;
  const bool is_known = (what == Measured::Kernel && is_at(Boundary::OperatorStart)) ||
                        (what == Measured::Operator && is_at(Boundary::OperatorEnd));
  entry.start_time = is_known ? boundary_.time : ::executorch::runtime::pal_current_ticks();
  set_boundary(what == Measured::Operator ? Boundary::OperatorStart : Boundary::None, entry.start_time);
  uint32_t& started = what == Measured::Operator ? operator_name_ : kernel_name_;
  started = what == Measured::Other ? kNone : static_cast<uint32_t>(entry.event_id);
  return entry;
}

bool ETDumpGen::is_at(Boundary::Kind kind) const {
  const DebugHandle after = kind == Boundary::OperatorEnd ? 1 : 0;
  return boundary_.kind == kind && boundary_.chain == chain_id_ && boundary_.instruction + after == debug_handle_;
}

void ETDumpGen::set_boundary(Boundary::Kind kind, et_timestamp_t time) {
  boundary_ = {kind, chain_id_, debug_handle_, time};
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
    return;  // it began before the dump was fetched or forgotten
  }
  const auto name = static_cast<uint32_t>(prof_entry.event_id);
  const bool is_of_instruction = prof_entry.delegate_event_id_type == DelegateDebugIdType::kNone &&
                                 prof_entry.chain_id == chain_id_ && prof_entry.debug_handle == debug_handle_ &&
                                 metadata == nullptr && name != kNone;
  if (is_of_instruction && name == operator_name_ && is_at(Boundary::KernelEnd) &&
      log_.at(log_.last()).first == prof_entry.start_time && log_.wrap_last(name)) {
    boundary_.kind = Boundary::OperatorEnd;
    return;
  }
  const et_timestamp_t end_time = ::executorch::runtime::pal_current_ticks();
  const bool is_added = add(profile(prof_entry, end_time), metadata, metadata == nullptr ? 0 : metadata_len) != kNone;
  if (is_of_instruction && is_added) {
    set_boundary(name == kernel_name_     ? Boundary::KernelEnd
                 : name == operator_name_ ? Boundary::OperatorEnd
                                          : Boundary::None,
                 end_time);
  }
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
  // An event without a valid identity is one of the instruction, as with start_profiling_delegate().
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

Result<bool> ETDumpGen::log_tensors(Record record, const Tensor* tensors, size_t count) {
  ET_CHECK_OR_RETURN_ERROR(data_sink_ != nullptr, InvalidState,
                           "ETDump: tensors are logged into a data sink: call set_debug_buffer() or set_data_sink()");
  for (size_t i = 0; i < count; ++i) {
    if (!::executorch::runtime::internal::is_dense_on_cpu(tensors[i]) || !tensors[i].device().is_cpu()) {
      return false;  // its elements cannot be read from here
    }
  }
  // One tensor is described on the stack, more of them on the heap.
  uint8_t one[kMaxLoggedTensorBytes];
  uint8_t* memory = count <= 1 ? one : static_cast<uint8_t*>(std::malloc(count * kMaxLoggedTensorBytes));
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed, "ETDump: no memory to describe %zu tensors",
                           count);
  size_t bytes = 0;
  Error error = Error::Ok;
  for (size_t i = 0; i < count && error == Error::Ok; ++i) {
    const bool has_data = tensors[i].const_data_ptr() != nullptr;
    const Result<size_t> offset = data_sink_->write(tensors[i].const_data_ptr(), has_data ? tensors[i].nbytes() : 0);
    error = offset.error();
    bytes += error == Error::Ok ? describe(tensors[i], offset.get(), memory + bytes) : 0;
  }
  record.number = static_cast<int32_t>(count);
  if (error == Error::Ok && add(record, memory, bytes) == kNone) {
    error = Error::OutOfResources;
  }
  if (memory != one) {
    std::free(memory);
  }
  if (error != Error::Ok) {
    return error;
  }
  return true;
}

Result<bool> ETDumpGen::log_value(Record record, const EValue& value) {
  begin_default_block();
  ::etdump::ValueType type = ::etdump::ValueType::Null;
  switch (value.tag) {
    case Tag::Tensor:
      record.value_type = static_cast<int8_t>(::etdump::ValueType::Tensor);
      return log_tensors(record, &value.toTensor(), 1);
    case Tag::ListTensor: {
      const auto tensors = value.toTensorList();
      record.value_type = static_cast<int8_t>(::etdump::ValueType::TensorList);
      return log_tensors(record, tensors.data(), tensors.size());
    }
    case Tag::Int:
      type = ::etdump::ValueType::Int;
      record.first = static_cast<uint64_t>(value.toInt());
      break;
    case Tag::Bool:
      type = ::etdump::ValueType::Bool;
      record.first = value.toBool() ? 1 : 0;
      break;
    case Tag::Double: {
      type = ::etdump::ValueType::Double;
      const double number = value.toDouble();
      std::memcpy(&record.first, &number, sizeof(number));
      break;
    }
    default:
      return false;
  }
  record.value_type = static_cast<int8_t>(type);
  ET_CHECK_OR_RETURN_ERROR(add(record) != kNone, OutOfResources, "ETDump: no room for a value");
  return true;
}

Result<bool> ETDumpGen::log_evalue(const EValue& evalue, LoggedEValueType evalue_type) {
  Record record{RecordKind::Value};
  record.chain = chain_id_;
  record.instruction = static_cast<int32_t>(debug_handle_);
  record.is_output = evalue_type == LoggedEValueType::kProgramOutput;
  return log_value(record, evalue);
}

Result<bool> ETDumpGen::begin_delegate_output(const char* name, DelegateDebugIntId delegate_debug_index,
                                              Record* record) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_delegate_id(name, delegate_debug_index));
  if (filter_ != nullptr) {
    Result<bool> passes = filter_->filter(name, delegate_debug_index);
    if (!passes.ok() || !passes.get()) {
      return passes;
    }
  }
  begin_default_block();
  record->chain = chain_id_;
  record->instruction = static_cast<int32_t>(debug_handle_);
  record->delegate_name = log_.name(name);
  record->delegate_number = delegate_debug_index;
  return true;
}

Result<bool> ETDumpGen::log_delegate_value(const char* name, DelegateDebugIntId delegate_debug_index,
                                           const EValue& value) {
  Record record{RecordKind::Value};
  Result<bool> passes = begin_delegate_output(name, delegate_debug_index, &record);
  if (!passes.ok() || !passes.get()) {
    return passes;
  }
  return log_value(record, value);
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                         const Tensor& output) {
  return log_delegate_value(name, delegate_debug_index, EValue(output));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                         const ::executorch::runtime::ArrayRef<Tensor> output) {
  Record record{RecordKind::Value};
  Result<bool> passes = begin_delegate_output(name, delegate_debug_index, &record);
  if (!passes.ok() || !passes.get()) {
    return passes;
  }
  record.value_type = static_cast<int8_t>(::etdump::ValueType::TensorList);
  return log_tensors(record, output.data(), output.size());
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                         const int& output) {
  return log_delegate_value(name, delegate_debug_index, EValue(static_cast<int64_t>(output)));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                         const bool& output) {
  return log_delegate_value(name, delegate_debug_index, EValue(output));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                         const double& output) {
  return log_delegate_value(name, delegate_debug_index, EValue(output));
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
