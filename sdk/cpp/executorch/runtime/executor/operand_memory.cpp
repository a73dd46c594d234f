// SPDX-License-Identifier: BSD-3-Clause
// Checks what kernels write: finds the outputs among the arguments, and checks that they are not constant and do not
// overlap with inputs.
//
// The memory that a kernel writes must be separate from the memory that it reads. Kernels check their inputs before
// they write the first element and rely on them until they have written the last: a mask or an index at the end of the
// output would change meanwhile. Memory planning never makes such programs, but damaged and malicious files may have
// them.
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/executor/instruction.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch_flatbuffer::KernelTypes;
using internal::size_of;

namespace {

// Operators that also write arguments other than their last one. internal::kViewOperator is a separate case.
constexpr const char kCopyIndexOperator[] = "executorch_prim::et_copy_index.tensor";
constexpr const char kBatchNormOperator[] = "aten::_native_batch_norm_legit.out";

/// The most outputs that are separate arguments. Lists of outputs may be longer.
constexpr uint32_t kMaxOutputs = 16;
/// Longer lists are not checked: a list of indices or masks has at most one item for each dimension, and the operators
/// that take longer ones (concatenation) only copy elements.
constexpr uint32_t kMaxListItems = 64;

}  // namespace

/// The memory that a tensor may use, at its largest size.
struct Method::MemoryRange {
  uintptr_t begin;
  size_t size;

  bool overlaps(const MemoryRange& other) const {
    return size > 0 && other.size > 0 && begin < other.begin + other.size && other.begin < begin + size;
  }
};

/// Records which value the output of a view operator is a view of.
Error Method::note_view(const executorch_flatbuffer::KernelCall& call) {
  ET_CHECK_PROGRAM(size_of(call.args()) == 3 && values_[call.args()->Get(2)].isTensor(), "A view has no output tensor");
  const int32_t view = call.args()->Get(2);
  if (view_bases_ == nullptr) {
    view_bases_ = memory_manager_->method_allocator()->allocateList<int32_t>(num_values_);
    if (view_bases_ == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    for (size_t i = 0; i < num_values_; ++i) {
      view_bases_[i] = -1;
    }
  }
  ET_CHECK_PROGRAM(view_bases_[view] < 0, "Value %" PRId32 " is made a view twice", view);
  for (size_t i = 0; i < inputs_size(); ++i) {
    // Otherwise, the caller's data would be copied to the value that it was a view of in the last execution.
    ET_CHECK_PROGRAM(input_index(i) != view, "Value %" PRId32 " is an input of the method and a view of another value",
                     view);
  }
  view_bases_[view] = call.args()->Get(0);
  value_flags_[view] |= kView | kReadOnly | kMayHaveNoData;
  has_views_ = true;
  return Error::Ok;
}

/// The planned or constant memory of a tensor, or of the tensor that it is a view of; empty if the caller supplies it.
Method::MemoryRange Method::memory_of(int32_t value) const {
  for (size_t depth = 0; view_bases_ != nullptr && view_bases_[value] >= 0; ++depth) {
    if (depth == num_values_) {
      return {0, 0};  // a cycle of views has no data
    }
    value = view_bases_[value];
  }
  if (!values_[value].isTensor()) {
    return {0, 0};
  }
  const auto& tensor = values_[value].toTensor();
  const void* data = tensor.const_data_ptr();
  return {reinterpret_cast<uintptr_t>(data), data == nullptr ? 0 : tensor.nbytes()};
}

/// Checks one output against all other arguments of the call.
Error Method::check_output_memory(const executorch_flatbuffer::KernelCall& call, int32_t output,
                                  const char* name) const {
  const MemoryRange memory = memory_of(output);
  uint32_t uses = 0;
  const auto check = [&](int32_t operand) {
    uses += operand == output;
    ET_CHECK_PROGRAM(operand == output || !memory.overlaps(memory_of(operand)),
                     "%s writes value %" PRId32 " over the memory of its argument, value %" PRId32, name, output,
                     operand);
    return Error::Ok;
  };
  for (uint32_t i = 0; i + 1 < size_of(call.args()); ++i) {
    const int32_t operand = call.args()->Get(i);
    ET_CHECK_OK_OR_RETURN_ERROR(check(operand));
    const auto& value = *plan_->values()->Get(static_cast<uint32_t>(operand));
    const auto check_items = [&](const auto* items) {
      for (uint32_t j = 0; size_of(items) <= kMaxListItems && j < size_of(items); ++j) {
        if (items->Get(j) >= 0) {
          ET_CHECK_OK_OR_RETURN_ERROR(check(items->Get(j)));
        }
      }
      return Error::Ok;
    };
    if (const auto* tensors = value.val_as_TensorList()) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_items(tensors->items()));
    } else if (const auto* optional = value.val_as_OptionalTensorList()) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_items(optional->items()));
    }
  }
  // If a value is both read and written, its shape does not change, or the operator does not set its shape.
  const auto& op_name = *plan_->operators()->Get(static_cast<uint32_t>(call.op_index()))->name();
  const bool in_place = op_name.c_str()[op_name.size() - 1] == '_';
  const bool is_static =
      internal::shape_dynamism_of(values_[output].toTensor()) == executorch::aten::TensorShapeDynamism::STATIC;
  ET_CHECK_PROGRAM(uses <= 1 || in_place || is_static,
                   "%s has value %" PRId32 ", which is of dynamic shape, for an input and for its output", name,
                   output);
  return Error::Ok;
}

/// Checks the outputs that are separate arguments. A list of outputs needs no check: its operators only copy elements.
Error Method::check_operand_memory(const executorch_flatbuffer::KernelCall& call, const char* name) const {
  const uint32_t count = size_of(call.args());
  if (count < 2) {
    return Error::Ok;
  }
  const int32_t last = call.args()->Get(count - 1);
  if (values_[last].isTensor()) {
    return (value_flags_[last] & kView) != 0 ? Error::Ok : check_output_memory(call, last, name);
  }
  const auto* returned = plan_->values()->Get(static_cast<uint32_t>(last))->val_as_TensorList();
  if (returned == nullptr || values_[call.args()->Get(count - 2)].isTensorList()) {
    return Error::Ok;
  }
  const uint32_t num_outputs = size_of(returned->items());
  ET_CHECK_PROGRAM(num_outputs <= kMaxOutputs, "%s has %" PRIu32 " outputs; at most %" PRIu32 " are supported", name,
                   num_outputs, kMaxOutputs);
  for (uint32_t i = 0; i < num_outputs; ++i) {
    const auto output = static_cast<int32_t>(returned->items()->Get(i));
    for (uint32_t j = 0; j < i; ++j) {
      // Tensors without elements may be the same value. One without planned memory gets some before it is written.
      ET_CHECK_PROGRAM(returned->items()->Get(j) != output || values_[output].toTensor().nbytes() == 0,
                       "%s has value %" PRId32 " for two of its outputs", name, output);
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_output_memory(call, output, name));
  }
  return Error::Ok;
}

Error Method::check_writable(int32_t value, const char* name) const {
  const uint8_t flags = value_flags_[value];
  ET_CHECK_PROGRAM((flags & kReadOnly) == 0, "%s writes to value %" PRId32 ", a constant or a view of another tensor",
                   name, value);
  ET_CHECK_PROGRAM((flags & kBorrowed) == 0 || internal::shape_dynamism_of(values_[value].toTensor()) ==
                                                   executorch::aten::TensorShapeDynamism::STATIC,
                   "%s writes to value %" PRId32 ", an input of dynamic shape without planned memory", name, value);
  return Error::Ok;
}

/// The last argument of a call is the operator's result: the output tensor or a list of outputs, repeated. So the
/// outputs are known without the operator's schema. Without this rule, a damaged file could write to constants.
Error Method::check_kernel_outputs(const executorch_flatbuffer::KernelCall& call, const char* name) const {
  const uint32_t count = size_of(call.args());
  if (count == 0) {
    return Error::Ok;
  }
  if (internal::same_text(name, kCopyIndexOperator)) {
    return values_[call.args()->Get(0)].isTensor() ? check_writable(call.args()->Get(0), name) : Error::Ok;
  }
  // In training, batch norm also updates the running statistics, which it does not return.
  for (uint32_t i = 3; i < 5 && i < count && internal::same_text(name, kBatchNormOperator); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_writable(call.args()->Get(i), name));
  }
  const int32_t last = call.args()->Get(count - 1);
  const auto& op_name = *plan_->operators()->Get(static_cast<uint32_t>(call.op_index()))->name();
  const bool in_place = op_name.c_str()[op_name.size() - 1] == '_';
  ET_CHECK_PROGRAM(!in_place || (count >= 2 && call.args()->Get(0) == last),
                   "%s returns value %" PRId32 ", which is not its first argument", name, last);
  const auto& serialized = *plan_->values()->Get(static_cast<uint32_t>(last));
  if (serialized.val_type() == KernelTypes::Tensor) {
    if ((value_flags_[last] & kView) != 0 && internal::same_text(name, internal::kViewOperator)) {
      return Error::Ok;
    }
    ET_CHECK_PROGRAM(in_place || (count >= 2 && call.args()->Get(count - 2) == last),
                     "%s returns value %" PRId32 ", which is not its output argument", name, last);
    return check_writable(last, name);
  }
  if (serialized.val_type() != KernelTypes::TensorList) {
    return Error::Ok;
  }
  const auto* returned = serialized.val_as_TensorList()->items();
  const uint32_t num_outputs = size_of(returned);
  // The outputs are one list, or the same number of tensors.
  const auto* list =
      count < 2 ? nullptr
                : plan_->values()->Get(static_cast<uint32_t>(call.args()->Get(count - 2)))->val_as_TensorList();
  const auto* outputs = list == nullptr ? nullptr : list->items();
  ET_CHECK_PROGRAM(outputs != nullptr ? size_of(outputs) == num_outputs : num_outputs < count,
                   "%s returns %" PRIu32 " tensors, more or less than its output arguments", name, num_outputs);
  for (uint32_t i = 0; i < num_outputs; ++i) {
    const int32_t output = outputs != nullptr ? outputs->Get(i) : call.args()->Get(count - 1 - num_outputs + i);
    ET_CHECK_PROGRAM(output == returned->Get(i), "%s returns value %" PRId32 ", which is not its output argument", name,
                     returned->Get(i));
    ET_CHECK_OK_OR_RETURN_ERROR(check_writable(output, name));
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
