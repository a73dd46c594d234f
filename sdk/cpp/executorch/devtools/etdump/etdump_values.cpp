// SPDX-License-Identifier: BSD-3-Clause
// The part of ETDumpGen that logs values.
#include <cstdlib>
#include <cstring>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/etdump_generated.h>

namespace executorch {
namespace etdump {

using ::executorch::aten::Tensor;
using ::executorch::runtime::Error;
using ::executorch::runtime::EValue;
using ::executorch::runtime::kTensorDimensionLimit;
using ::executorch::runtime::LoggedEValueType;
using ::executorch::runtime::Tag;
using internal::kNone;
using internal::LoggedTensor;
using internal::RecordKind;

namespace {

constexpr size_t kMaxLoggedTensorBytes = sizeof(LoggedTensor) + 2 * kTensorDimensionLimit * sizeof(int64_t);

/// Describes a tensor whose elements are at `offset`. Returns the size of the description in bytes.
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

Result<bool> ETDumpGen::log_tensors(Record record, const Tensor* tensors, size_t count) {
  ET_CHECK_OR_RETURN_ERROR(data_sink_ != nullptr, InvalidState,
                           "ETDump: tensors are logged into a data sink: call set_debug_buffer() or set_data_sink()");
  for (size_t i = 0; i < count; ++i) {
    if (!::executorch::runtime::internal::is_dense_on_cpu(tensors[i]) || !tensors[i].device().is_cpu()) {
      return false;  // the CPU cannot read its elements
    }
  }
  // The description of one tensor is on the stack; descriptions of several are on the heap.
  uint8_t one[kMaxLoggedTensorBytes]{};
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
      const auto tensors = value.tryToTensorList();
      if (!tensors.ok()) {
        return tensors.error();
      }
      record.value_type = static_cast<int8_t>(::etdump::ValueType::TensorList);
      return log_tensors(record, tensors->data(), tensors->size());
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

void ETDumpGen::log_input(size_t index, const EValue& value) {
  begin_default_block();
  if (index == 0) {
    inputs_.begin();
  }
  inputs_.add(value);
  if (block_ != kNone) {
    log_.at(block_).first = inputs_.value();
  }
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

}  // namespace etdump
}  // namespace executorch
