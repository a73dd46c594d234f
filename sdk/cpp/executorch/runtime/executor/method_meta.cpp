// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/executor/method_meta.h>

#include <cstring>

#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/executor/tensor_parser.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch_flatbuffer::KernelTypes;
using internal::size_of;

namespace {

Result<Tag> tag_of(KernelTypes type) {
  switch (type) {
    case KernelTypes::Null:
      return Tag::None;
    case KernelTypes::Int:
      return Tag::Int;
    case KernelTypes::Double:
      return Tag::Double;
    case KernelTypes::Bool:
      return Tag::Bool;
    case KernelTypes::Tensor:
      return Tag::Tensor;
    case KernelTypes::String:
      return Tag::String;
    case KernelTypes::IntList:
      return Tag::ListInt;
    case KernelTypes::DoubleList:
      return Tag::ListDouble;
    case KernelTypes::BoolList:
      return Tag::ListBool;
    case KernelTypes::TensorList:
      return Tag::ListTensor;
    case KernelTypes::OptionalTensorList:
      return Tag::ListOptionalTensor;
    default:
      ET_CHECK_PROGRAM(false, "A value has the unknown type %u", static_cast<unsigned>(type));
  }
}

/// The value that entry `index` of the inputs or outputs refers to.
Result<const executorch_flatbuffer::EValue*> value_at(const executorch_flatbuffer::ExecutionPlan& plan,
                                                      const flatbuffers::Vector<int32_t>* indices, size_t index,
                                                      const char* what) {
  ET_CHECK_OR_RETURN_ERROR(index < size_of(indices), InvalidArgument,
                           "%s %zu of method '%s' was requested, there are %" PRIu32, what, index, plan.name()->c_str(),
                           size_of(indices));
  const int32_t value = indices->Get(static_cast<uint32_t>(index));
  ET_CHECK_PROGRAM(value >= 0 && static_cast<uint32_t>(value) < size_of(plan.values()), "%s %zu is not a value", what,
                   index);
  return plan.values()->Get(static_cast<uint32_t>(value));
}

Result<const executorch_flatbuffer::Tensor*> tensor_at(const executorch_flatbuffer::ExecutionPlan& plan,
                                                       const flatbuffers::Vector<int32_t>* indices, size_t index,
                                                       const char* what) {
  ET_ASSIGN_OR_RETURN(value, value_at(plan, indices, index, what));
  ET_CHECK_OR_RETURN_ERROR(value->val_type() == KernelTypes::Tensor && value->val() != nullptr, InvalidArgument,
                           "%s %zu of method '%s' is a %s, not a Tensor", what, index, plan.name()->c_str(),
                           executorch_flatbuffer::EnumNameKernelTypes(value->val_type()));
  return value->val_as_Tensor();
}

}  // namespace

TensorInfo::TensorInfo(const executorch_flatbuffer::Tensor& tensor, size_t nbytes)
    : scalar_type_(static_cast<executorch::aten::ScalarType>(tensor.scalar_type())),
      is_memory_planned_(tensor.allocation_info() != nullptr),
      nbytes_(nbytes) {
  if (size_of(tensor.sizes()) > 0) {
    sizes_ = Span<const int32_t>(tensor.sizes()->data(), tensor.sizes()->size());
    dim_order_ = Span<const uint8_t>(tensor.dim_order()->data(), tensor.dim_order()->size());
  }
  const auto* extra = tensor.extra_tensor_info();
  if (extra != nullptr && extra->fully_qualified_name() != nullptr) {
    name_ = extra->fully_qualified_name()->string_view();
  }
}

namespace {

Result<size_t> nbytes_of(const executorch_flatbuffer::Tensor& tensor) {
  size_t nbytes = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_tensor_layout(tensor, internal::Place{}, &nbytes));
  return nbytes;
}

}  // namespace

const char* MethodMeta::name() const {
  return plan_->name()->c_str();
}

size_t MethodMeta::num_inputs() const {
  return size_of(plan_->inputs());
}

Result<Tag> MethodMeta::input_tag(size_t index) const {
  ET_ASSIGN_OR_RETURN(value, value_at(*plan_, plan_->inputs(), index, "Input"));
  return tag_of(value->val_type());
}

Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const {
  ET_ASSIGN_OR_RETURN(tensor, tensor_at(*plan_, plan_->inputs(), index, "Input"));
  ET_ASSIGN_OR_RETURN(nbytes, nbytes_of(*tensor));
  return TensorInfo(*tensor, nbytes);
}

size_t MethodMeta::num_outputs() const {
  return size_of(plan_->outputs());
}

Result<Tag> MethodMeta::output_tag(size_t index) const {
  ET_ASSIGN_OR_RETURN(value, value_at(*plan_, plan_->outputs(), index, "Output"));
  return tag_of(value->val_type());
}

Result<TensorInfo> MethodMeta::output_tensor_meta(size_t index) const {
  ET_ASSIGN_OR_RETURN(tensor, tensor_at(*plan_, plan_->outputs(), index, "Output"));
  ET_ASSIGN_OR_RETURN(nbytes, nbytes_of(*tensor));
  return TensorInfo(*tensor, nbytes);
}

size_t MethodMeta::num_attributes() const {
  size_t count = 0;
  for (uint32_t i = 0; i < size_of(plan_->values()); ++i) {
    count += deserialization::as_attribute(*plan_->values()->Get(i)) != nullptr;
  }
  return count;
}

Result<TensorInfo> MethodMeta::attribute_tensor_meta(size_t index) const {
  size_t count = 0;
  for (uint32_t i = 0; i < size_of(plan_->values()); ++i) {
    const auto* tensor = deserialization::as_attribute(*plan_->values()->Get(i));
    if (tensor != nullptr && count++ == index) {
      ET_ASSIGN_OR_RETURN(nbytes, nbytes_of(*tensor));
      return TensorInfo(*tensor, nbytes);
    }
  }
  ET_LOG(Error, "Attribute %zu of method '%s' was requested, there are %zu", index, name(), count);
  return Error::InvalidArgument;
}

size_t MethodMeta::num_memory_planned_buffers() const {
  const uint32_t count = size_of(plan_->non_const_buffer_sizes());
  // Entry 0 is reserved.
  return count == 0 ? 0 : count - 1;
}

Result<int64_t> MethodMeta::memory_planned_buffer_size(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_memory_planned_buffers(), InvalidArgument,
                           "Planned buffer %zu of method '%s' was requested, there are %zu", index, name(),
                           num_memory_planned_buffers());
  return plan_->non_const_buffer_sizes()->Get(static_cast<uint32_t>(index + 1));
}

std::optional<size_t> MethodMeta::shared_planned_buffer() const {
  const uint32_t id = plan_->shared_buffer();
  return id == 0 ? std::nullopt : std::optional<size_t>(id - 1);
}

Result<etensor::Device> MethodMeta::memory_planned_buffer_device(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_memory_planned_buffers(), InvalidArgument,
                           "The device of planned buffer %zu of method '%s' was requested, there are %zu", index,
                           name(), num_memory_planned_buffers());
  for (uint32_t i = 0; i < size_of(plan_->non_const_buffer_device()); ++i) {
    const auto* entry = plan_->non_const_buffer_device()->Get(i);
    if (entry->buffer_idx() >= 0 && static_cast<size_t>(entry->buffer_idx()) == index + 1) {
      return etensor::Device(static_cast<etensor::DeviceType>(entry->device_type()), entry->device_index());
    }
  }
  return etensor::Device(etensor::DeviceType::CPU);
}

bool MethodMeta::uses_backend(const char* backend_name) const {
  for (uint32_t i = 0; backend_name != nullptr && i < size_of(plan_->delegates()); ++i) {
    if (internal::same_text(plan_->delegates()->Get(i)->id()->c_str(), backend_name)) {
      return true;
    }
  }
  return false;
}

namespace {

/// The name of delegate `index` when no delegate before it has the same one, otherwise null.
const char* first_use(const executorch_flatbuffer::ExecutionPlan& plan, uint32_t index) {
  const char* name = plan.delegates()->Get(index)->id()->c_str();
  for (uint32_t i = 0; i < index; ++i) {
    if (internal::same_text(plan.delegates()->Get(i)->id()->c_str(), name)) {
      return nullptr;
    }
  }
  return name;
}

}  // namespace

size_t MethodMeta::num_backends() const {
  size_t count = 0;
  for (uint32_t i = 0; i < size_of(plan_->delegates()); ++i) {
    count += first_use(*plan_, i) != nullptr;
  }
  return count;
}

Result<const char*> MethodMeta::get_backend_name(size_t index) const {
  size_t count = 0;
  for (uint32_t i = 0; i < size_of(plan_->delegates()); ++i) {
    const char* backend = first_use(*plan_, i);
    if (backend != nullptr && count++ == index) {
      return backend;
    }
  }
  ET_LOG(Error, "Backend %zu of method '%s' was requested, there are %zu", index, name(), count);
  return Error::InvalidArgument;
}

size_t MethodMeta::num_instructions() const {
  return size_of(plan_->chains()) == 0 ? 0 : size_of(plan_->chains()->Get(0)->instructions());
}

}  // namespace runtime
}  // namespace executorch
