// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/method.h>

#include <algorithm>
#include <new>
#include <utility>

#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/executor/backend_delegate.h>
#include <executorch/runtime/executor/call_kernel.h>
#include <executorch/runtime/executor/instruction.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/separate_memory.h>
#include <executorch/runtime/executor/tensor_parser.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch::aten::Tensor;
using internal::size_of;

Result<Method> Method::load(const executorch_flatbuffer::ExecutionPlan* plan, const Program* program,
                            MemoryManager* memory_manager, EventTracer* event_tracer,
                            const NamedDataMap* named_data_map, const LoadBackendOptionsMap* backend_options,
                            Span<const Kernel> kernel_registry) {
  ET_CHECK_OR_RETURN_ERROR(memory_manager != nullptr && memory_manager->method_allocator() != nullptr, InvalidArgument,
                           "Method '%s' needs a MemoryManager with a method allocator", plan->name()->c_str());
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_separate_memory(*plan, *memory_manager));
  MemoryAllocator* temp_allocator = memory_manager->temp_allocator();
  const bool owns_temp_allocator = temp_allocator == nullptr;
  if (owns_temp_allocator) {
    auto* memory = memory_manager->method_allocator()->allocateInstance<internal::PlatformMemoryAllocator>();
    if (memory == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    temp_allocator = ::new (memory) internal::PlatformMemoryAllocator();
  }
  Method method(plan, program, memory_manager, event_tracer, temp_allocator);
  method.owns_temp_allocator_ = owns_temp_allocator;
  ET_CHECK_OK_OR_RETURN_ERROR(method.init(named_data_map, backend_options, kernel_registry));
  return method;
}

Method::Method(Method&& rhs) noexcept
    : plan_(rhs.plan_),
      program_(std::exchange(rhs.program_, nullptr)),
      memory_manager_(rhs.memory_manager_),
      event_tracer_(rhs.event_tracer_),
      temp_allocator_(rhs.temp_allocator_),
      num_values_(std::exchange(rhs.num_values_, 0)),
      values_(std::exchange(rhs.values_, nullptr)),
      value_flags_(std::exchange(rhs.value_flags_, nullptr)),
      input_set_(std::exchange(rhs.input_set_, nullptr)),
      num_delegates_(std::exchange(rhs.num_delegates_, 0)),
      delegates_(std::exchange(rhs.delegates_, nullptr)),
      num_chains_(std::exchange(rhs.num_chains_, 0)),
      chains_(std::exchange(rhs.chains_, nullptr)),
      named_data_map_(std::exchange(rhs.named_data_map_, nullptr)),
      merged_data_map_(std::exchange(rhs.merged_data_map_, nullptr)),
      num_external_constants_(std::exchange(rhs.num_external_constants_, 0)),
      external_constants_(std::exchange(rhs.external_constants_, nullptr)),
      owns_temp_allocator_(std::exchange(rhs.owns_temp_allocator_, false)),
      has_views_(std::exchange(rhs.has_views_, false)),
      position_(std::exchange(rhs.position_, Position{0, 0})),
      interrupt_(rhs.interrupt_) {}

Method::~Method() {
  // Destroy delegates first, because backends may read values and named data in destroy().
  while (num_delegates_ > 0) {
    delegates_[--num_delegates_].~BackendDelegate();
  }
  while (num_values_ > 0) {
    EValue& value = values_[--num_values_];
    internal::release_items(value);
    value.~EValue();
  }
  while (num_external_constants_ > 0) {
    external_constants_[--num_external_constants_].~NamedData();
  }
  if (merged_data_map_ != nullptr) {
    merged_data_map_->~MergedDataMap();
  }
  if (owns_temp_allocator_) {
    static_cast<internal::PlatformMemoryAllocator*>(temp_allocator_)->~PlatformMemoryAllocator();
  }
}

Error Method::check_usable() const {
  ET_CHECK_OR_RETURN_ERROR(program_ != nullptr, InvalidState,
                           "Method '%s' was moved from: use the Method that it was moved to", plan_->name()->c_str());
  return Error::Ok;
}

MethodMeta Method::method_meta() const {
  return MethodMeta(plan_);
}

size_t Method::inputs_size() const {
  return size_of(plan_->inputs());
}

size_t Method::outputs_size() const {
  return size_of(plan_->outputs());
}

int32_t Method::input_index(size_t i) const {
  ET_CHECK(check_usable() == Error::Ok);
  ET_CHECK_MSG(i < inputs_size(), "Input %zu was requested, the method has %zu", i, inputs_size());
  return plan_->inputs()->Get(static_cast<uint32_t>(i));
}

int32_t Method::output_index(size_t i) const {
  ET_CHECK(check_usable() == Error::Ok);
  ET_CHECK_MSG(i < outputs_size(), "Output %zu was requested, the method has %zu", i, outputs_size());
  return plan_->outputs()->Get(static_cast<uint32_t>(i));
}

const EValue& Method::get_input(size_t i) const {
  return value_at(input_index(i));
}

EValue& Method::mutable_input(size_t i) {
  EValue& value = value_at(input_index(i));
  // The caller sets the value through the reference, so set_input() is not required.
  input_set_[i] = true;
  return value;
}

const EValue& Method::get_output(size_t i) const {
  return value_at(output_index(i));
}

EValue& Method::mutable_output(size_t i) {
  return value_at(output_index(i));
}

Error Method::get_inputs(EValue* input_evalues, size_t length) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(input_evalues != nullptr && length >= inputs_size(), InvalidArgument,
                           "The array has room for %zu inputs, the method has %zu", length, inputs_size());
  for (size_t i = 0; i < length; ++i) {
    input_evalues[i] = i < inputs_size() ? get_input(i) : EValue();
  }
  return Error::Ok;
}

Error Method::get_outputs(EValue* output_evalues, size_t length) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(output_evalues != nullptr && length >= outputs_size(), InvalidArgument,
                           "The array has room for %zu outputs, the method has %zu", length, outputs_size());
  for (size_t i = 0; i < length; ++i) {
    output_evalues[i] = i < outputs_size() ? get_output(i) : EValue();
  }
  return Error::Ok;
}

Error Method::set_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(output_idx < outputs_size(), InvalidArgument,
                           "Output %zu was given memory, the method has %zu outputs", output_idx, outputs_size());
  // Compare with the size in the file and not the current one, because the tensor may grow back to it.
  ET_ASSIGN_OR_RETURN(meta, method_meta().output_tensor_meta(output_idx));
  const int32_t index = output_index(output_idx);
  ET_CHECK_OR_RETURN_ERROR(!meta.is_memory_planned(), InvalidState,
                           "Output %zu has planned memory; export with alloc_graph_output=False to supply it",
                           output_idx);
  ET_CHECK_OR_RETURN_ERROR((value_flags_[index] & (kReadOnly | kView | kBorrowed)) == 0, InvalidState,
                           "Output %zu is a constant, an input or a view of another tensor: it has that one's memory",
                           output_idx);
  ET_CHECK_OR_RETURN_ERROR(buffer != nullptr && size >= meta.nbytes(), InvalidArgument,
                           "Output %zu needs %zu bytes, the buffer has %zu", output_idx, meta.nbytes(),
                           buffer == nullptr ? 0 : size);
  Tensor& tensor = value_at(index).toTensor();
  const auto alignment = std::min<size_t>(static_cast<size_t>(tensor.element_size()), alignof(std::max_align_t));
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(buffer) % alignment == 0, InvalidArgument,
                           "Output %zu needs memory at a multiple of %zu bytes, got %p", output_idx, alignment, buffer);
  internal::set_data(tensor, buffer, meta.nbytes());
  return Error::Ok;
}

Result<Tensor> Method::get_attribute(std::string_view name) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  for (uint32_t i = 0; i < size_of(plan_->values()); ++i) {
    const auto* tensor = deserialization::as_attribute(*plan_->values()->Get(i));
    if (tensor != nullptr && tensor->extra_tensor_info()->fully_qualified_name()->string_view() == name) {
      return values_[i].toTensor();
    }
  }
  ET_LOG(Error, "Method '%s' has no mutable buffer '%.*s'; it has %zu, see MethodMeta::attribute_tensor_meta",
         plan_->name()->c_str(), static_cast<int>(name.size()), name.data(), method_meta().num_attributes());
  return Error::NotFound;
}

}  // namespace runtime
}  // namespace executorch
