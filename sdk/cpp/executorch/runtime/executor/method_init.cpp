// SPDX-License-Identifier: BSD-3-Clause
// The first half of loading a method: memory, values, external data and delegates.
#include <new>

#include <executorch/runtime/executor/backend_delegate.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/name_list.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/tensor_parser.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch::aten::Tensor;
using executorch_flatbuffer::KernelTypes;
using internal::BackendDelegate;
using internal::size_of;

namespace {

/// Uninitialised memory for `count` objects; null if the count is 0.
template <typename T>
Result<T*> allocate(MemoryAllocator* allocator, size_t count) {
  if (count == 0) {
    return static_cast<T*>(nullptr);
  }
  T* memory = allocator->allocateList<T>(count);
  if (memory == nullptr) {
    return Error::MemoryAllocationFailed;  // the allocator has logged the size
  }
  return memory;
}

/// A list or string object in method memory, for an EValue to point to.
template <typename T>
Error store(MemoryAllocator* allocator, const T& object, EValue* value) {
  ET_ASSIGN_OR_RETURN(memory, allocate<T>(allocator, 1));
  new (value) EValue(new (memory) T(object));
  return Error::Ok;
}

/// Whether the data of a tensor comes from another file, to be used in place.
bool is_external_constant(const executorch_flatbuffer::Tensor& tensor) {
  return tensor.allocation_info() == nullptr && tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL;
}

}  // namespace

Error Method::init(const NamedDataMap* external_data, const LoadBackendOptionsMap* backend_options,
                   Span<const Kernel> kernel_registry) {
  ET_CHECK_OK_OR_RETURN_ERROR(merge_named_data(external_data));
  named_data_map_ = external_data;
  ET_CHECK_OK_OR_RETURN_ERROR(load_external_constants());
  ET_CHECK_OK_OR_RETURN_ERROR(init_values());
  ET_ASSIGN_OR_RETURN(input_set, allocate<bool>(memory_manager_->method_allocator(), inputs_size()));
  input_set_ = input_set;
  for (size_t i = 0; i < inputs_size(); ++i) {
    input_set_[i] = false;
  }
  // Look up operators before backends do expensive work, and report everything that is missing at once.
  const Error backends = check_backends();
  ET_ASSIGN_OR_RETURN(delegates,
                      allocate<BackendDelegate>(memory_manager_->method_allocator(), size_of(plan_->delegates())));
  delegates_ = delegates;
  ET_CHECK_OK_OR_RETURN_ERROR(flag_values());
  ET_CHECK_OK_OR_RETURN_ERROR(init_chains(kernel_registry));
  ET_CHECK_OK_OR_RETURN_ERROR(backends);
  return init_delegates(backend_options);
}

/// Merges the program's named data and the external data into one map for backends.
Error Method::merge_named_data(const NamedDataMap* external_data) {
  const auto own = program_->get_named_data_map();
  if (!own.ok() || external_data == nullptr) {
    return Error::Ok;
  }
  ET_ASSIGN_OR_RETURN(merged, internal::MergedDataMap::load(*own, external_data));
  ET_ASSIGN_OR_RETURN(memory, allocate<internal::MergedDataMap>(memory_manager_->method_allocator(), 1));
  merged_data_map_ = ::new (memory) internal::MergedDataMap(std::move(merged));
  return Error::Ok;
}

Error Method::load_external_constants() {
  size_t count = 0;
  for (uint32_t i = 0; i < size_of(plan_->values()); ++i) {
    const auto* tensor = plan_->values()->Get(i)->val_as_Tensor();
    count += tensor != nullptr && is_external_constant(*tensor);
  }
  if (count == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(named_data_map_ != nullptr, InvalidExternalData,
                           "Method '%s' has %zu constants in another file: load it together with its .ptd",
                           plan_->name()->c_str(), count);
  ET_ASSIGN_OR_RETURN(entries, allocate<NamedData>(memory_manager_->method_allocator(), count));
  external_constants_ = entries;
  for (uint32_t i = 0; i < size_of(plan_->values()); ++i) {
    const auto* tensor = plan_->values()->Get(i)->val_as_Tensor();
    if (tensor == nullptr || !is_external_constant(*tensor)) {
      continue;
    }
    const auto* name = tensor->extra_tensor_info()->fully_qualified_name();
    const char* key = name->c_str();
    const Span<NamedData> known(external_constants_, num_external_constants_);
    ET_CHECK_OK_OR_RETURN_ERROR(deserialization::check_external_tensor(*tensor, named_data_map_));
    if (deserialization::get_data_by_key(key, known) != nullptr) {
      continue;
    }
    auto data = named_data_map_->get_data(name->string_view());
    ET_CHECK_OK_OR_RETURN_ERROR(data.error());
    new (&external_constants_[num_external_constants_]) NamedData{key, std::move(*data)};
    ++num_external_constants_;
  }
  return Error::Ok;
}

Error Method::init_values() {
  const uint32_t count = size_of(plan_->values());
  ET_ASSIGN_OR_RETURN(values, allocate<EValue>(memory_manager_->method_allocator(), count));
  values_ = values;
  for (; num_values_ < count; ++num_values_) {
    const auto index = static_cast<uint32_t>(num_values_);
    ET_CHECK_OK_OR_RETURN_ERROR(init_value(*plan_->values()->Get(index), index));
  }
  return Error::Ok;
}

/// Constructs value `index`.
Error Method::init_value(const executorch_flatbuffer::EValue& serialized, uint32_t index) {
  EValue* value = &values_[index];
  const internal::Place place{plan_->name()->c_str(), "value", index};
  MemoryAllocator* allocator = memory_manager_->method_allocator();
  const size_t num_values = size_of(plan_->values());
  ET_CHECK_AT(place, serialized.val() != nullptr, "it is empty");
  switch (serialized.val_type()) {
    case KernelTypes::Null:
      new (value) EValue();
      return Error::Ok;
    case KernelTypes::Int:
      new (value) EValue(serialized.val_as_Int()->int_val());
      return Error::Ok;
    case KernelTypes::Double:
      new (value) EValue(serialized.val_as_Double()->double_val());
      return Error::Ok;
    case KernelTypes::Bool:
      new (value) EValue(serialized.val_as_Bool()->bool_val());
      return Error::Ok;
    case KernelTypes::Tensor: {
      ET_ASSIGN_OR_RETURN(
          tensor, deserialization::parseTensor(program_, memory_manager_, serialized.val_as_Tensor(), named_data_map_,
                                               Span<NamedData>(external_constants_, num_external_constants_)));
      new (value) EValue(tensor);
      return Error::Ok;
    }
    case KernelTypes::String: {
      const auto* text = serialized.val_as_String()->string_val();
      return store(allocator, aten::ArrayRef<char>(text->c_str(), text->size()), value);
    }
    case KernelTypes::DoubleList: {
      const auto* items = serialized.val_as_DoubleList()->items();
      return store(allocator, aten::ArrayRef<double>(items->data(), items->size()), value);
    }
    case KernelTypes::BoolList: {
      const auto* items = serialized.val_as_BoolList()->items();
      // The verifier has checked that every byte is 0 or 1.
      return store(allocator, aten::ArrayRef<bool>(reinterpret_cast<const bool*>(items->data()), items->size()), value);
    }
    case KernelTypes::IntList: {
      const auto* items = serialized.val_as_IntList()->items();
      ET_ASSIGN_OR_RETURN(storage, deserialization::internal::allocate_list<int64_t>(size_of(items), memory_manager_));
      for (uint32_t i = 0; i < size_of(items); ++i) {
        const int64_t item = items->Get(i);
        ET_CHECK_AT(place, item >= 0 && static_cast<uint64_t>(item) < num_values,
                    "item %" PRIu32 " of the list is not a value", i);
        storage.wrapped[i] = &values_[item];
      }
      return store(allocator,
                   BoxedEvalueList<int64_t>(storage.wrapped, storage.unwrapped, static_cast<int>(size_of(items))),
                   value);
    }
    case KernelTypes::TensorList: {
      ET_ASSIGN_OR_RETURN(list, deserialization::parseTensorList(serialized.val_as_TensorList()->items(), values_,
                                                                 num_values, memory_manager_));
      return store(allocator, list, value);
    }
    case KernelTypes::OptionalTensorList: {
      ET_ASSIGN_OR_RETURN(
          list, deserialization::parseListOptionalType<Tensor>(serialized.val_as_OptionalTensorList()->items(), values_,
                                                               num_values, memory_manager_));
      return store(allocator, list, value);
    }
    default:
      ET_CHECK_AT(place, false, "it has the unknown type %u", static_cast<unsigned>(serialized.val_type()));
  }
}

/// Names all backends that are missing.
Error Method::check_backends() const {
  bool complete = true;
  for (uint32_t i = 0; i < size_of(plan_->delegates()); ++i) {
    complete = complete && get_backend_class(plan_->delegates()->Get(i)->id()->c_str()) != nullptr;
  }
  if (complete) {
    return Error::Ok;
  }
  if constexpr (ET_LOG_ENABLED) {
    const MethodMeta meta = method_meta();
    internal::NameList missing;
    for (size_t i = 0; i < meta.num_backends(); ++i) {
      ET_ASSIGN_OR_RETURN(name, meta.get_backend_name(i));
      if (get_backend_class(name) == nullptr) {
        missing.add(name);
      }
    }
    ET_LOG(Error,
           "Method '%s' needs %zu backends that are not registered; link their libraries, or export without them: %s",
           meta.name(), missing.size(), missing.text());
  }
  return Error::NotFound;
}

Error Method::init_delegates(const LoadBackendOptionsMap* backend_options) {
  const NamedDataMap* named_data = merged_data_map_ != nullptr ? merged_data_map_ : named_data_map_;
  if (named_data == nullptr) {
    const auto own = program_->get_named_data_map();
    named_data = own.ok() ? *own : nullptr;
  }
  const uint32_t count = size_of(plan_->delegates());
  for (uint32_t i = 0; i < count; ++i) {
    const auto& serialized = *plan_->delegates()->Get(i);
    Span<const BackendOption> options;
    if (backend_options != nullptr) {
      options = backend_options->get_options(serialized.id()->c_str());
    }
    BackendInitContext context(memory_manager_->method_allocator(), event_tracer_, plan_->name()->c_str(), named_data,
                               options);
    auto* delegate = new (&delegates_[i]) BackendDelegate();
    ++num_delegates_;
    ET_CHECK_OK_OR_RETURN_ERROR(delegate->init(serialized, *program_, context));
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
