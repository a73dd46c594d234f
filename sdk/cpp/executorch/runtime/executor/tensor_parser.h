// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/schema/program_generated.h>

// Makes values of a method from tables of a program. All memory comes from the method allocator; the parts of the
// program that are used in place must outlive it.

namespace executorch {
namespace runtime {
namespace deserialization {

/// A constant that came from another file, kept for as long as the method lives.
struct NamedData {
  const char* key;
  FreeableBuffer buffer;
};

/// The entry with that key, or null.
NamedData* get_data_by_key(const char* key, Span<NamedData> entries);

/// Makes a tensor that validate_program() has accepted. Its data pointer is null if nothing gives it data. Errors: of
/// planned memory, external data and the loader; InvalidArgument for misaligned data, NotSupported for a device.
ET_NODISCARD Result<executorch::aten::Tensor> parseTensor(const Program* program, MemoryManager* memory_manager,
                                                          const executorch_flatbuffer::Tensor* s_tensor,
                                                          const NamedDataMap* named_data_map = nullptr,
                                                          Span<NamedData> external_constants = {});

/// Makes a list that refers to values by index. Errors: InvalidProgram, MemoryAllocationFailed.
ET_NODISCARD Result<BoxedEvalueList<executorch::aten::Tensor>> parseTensorList(
    const flatbuffers::Vector<int32_t>* tensor_indices, EValue* values, size_t values_len,
    MemoryManager* memory_manager);

/// The tensor of a value when it is a named mutable buffer, otherwise null.
const executorch_flatbuffer::Tensor* as_attribute(const executorch_flatbuffer::EValue& value);

/// Errors: InvalidExternalData, after a log line, when dtype, sizes or dim order of external data differ.
ET_NODISCARD Error validateTensorLayout(const executorch_flatbuffer::Tensor* s_tensor,
                                        const TensorLayout& expected_layout);

/// Whether the external data has a tensor, in the same layout. Errors: InvalidExternalData, or those of the map.
ET_NODISCARD Error check_external_tensor(const executorch_flatbuffer::Tensor& tensor,
                                         const NamedDataMap* external_data);

namespace internal {

/// Storage for a boxed list of `count` items of T that refer to values.
template <typename T>
struct ListStorage {
  EValue** wrapped;
  T* unwrapped;
};

template <typename T>
Result<ListStorage<T>> allocate_list(size_t count, MemoryManager* memory_manager) {
  MemoryAllocator* allocator = memory_manager->method_allocator();
  ListStorage<T> storage{nullptr, nullptr};
  if (count > 0) {
    storage.wrapped = allocator->allocateList<EValue*>(count);
    storage.unwrapped = allocator->allocateList<T>(count);
    if (storage.wrapped == nullptr || storage.unwrapped == nullptr) {
      return Error::MemoryAllocationFailed;
    }
  }
  return storage;
}

/// Points to the values of a list; to none where an item is -1 and `optional`. Errors: InvalidProgram.
ET_NODISCARD Error refer_to_values(const flatbuffers::Vector<int32_t>& indices, Span<EValue> values, bool optional,
                                   EValue** items);

}  // namespace internal

/// Makes a list whose items may be None: -1 is None, and so is the index of a value that is None.
/// Errors: InvalidProgram, MemoryAllocationFailed.
template <typename T>
ET_NODISCARD Result<BoxedEvalueList<std::optional<T>>> parseListOptionalType(
    const flatbuffers::Vector<int32_t>* value_indices, EValue* values, size_t values_len,
    MemoryManager* memory_manager) {
  ET_CHECK_OR_RETURN_ERROR(value_indices != nullptr, InvalidProgram, "A list has no items field");
  const size_t count = value_indices->size();
  ET_ASSIGN_OR_RETURN(storage, internal::allocate_list<std::optional<T>>(count, memory_manager));
  for (size_t i = 0; i < count; ++i) {
    new (&storage.unwrapped[i]) std::optional<T>();
  }
  ET_CHECK_OK_OR_RETURN_ERROR(internal::refer_to_values(*value_indices, Span<EValue>(values, values_len),
                                                        /*optional=*/true, storage.wrapped));
  return BoxedEvalueList<std::optional<T>>(storage.wrapped, storage.unwrapped, static_cast<int>(count));
}

/// The address of the data of a tensor of `nbytes` bytes; null if it has none yet. Errors: as parseTensor.
ET_NODISCARD Result<void*> getTensorDataPtr(const executorch_flatbuffer::Tensor* s_tensor, const Program* program,
                                            size_t nbytes, HierarchicalAllocator* allocator,
                                            const NamedDataMap* named_data_map = nullptr,
                                            Span<NamedData> external_constants = {});

}  // namespace deserialization
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
namespace deserialization {
using ::executorch::runtime::deserialization::getTensorDataPtr;
using ::executorch::runtime::deserialization::parseListOptionalType;
using ::executorch::runtime::deserialization::parseTensor;
using ::executorch::runtime::deserialization::parseTensorList;
}  // namespace deserialization
}  // namespace executor
}  // namespace torch
