// SPDX-License-Identifier: BSD-3-Clause
// Running one instruction, and the errors that name it.
#include <algorithm>
#include <cstring>

#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/call_kernel.h>
#include <executorch/runtime/executor/instruction.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using internal::Instruction;

namespace {

bool lacks_data(const Tensor& tensor) {
  // An output of unbounded size needs memory even while it is empty, because the kernel may resize it.
  return tensor.const_data_ptr() == nullptr &&
         (tensor.numel() > 0 ||
          internal::shape_dynamism_of(tensor) == executorch::aten::TensorShapeDynamism::DYNAMIC_UNBOUND);
}

/// The tensor without data that `value` is, or the first one in its list; null if it has none.
const EValue* without_data(const EValue& value) {
  if (value.isTensor()) {
    return lacks_data(value.toTensor()) ? &value : nullptr;
  }
  executorch::aten::ArrayRef<EValue*> items;
  if (value.isTensorList()) {
    items = value.payload.copyable_union.as_tensor_list_ptr->wrapped_values();
  } else if (value.isListOptionalTensor()) {
    items = value.payload.copyable_union.as_list_optional_tensor_ptr->wrapped_values();
  }
  for (const EValue* item : items) {
    if (item != nullptr && item->isTensor() && lacks_data(item->toTensor())) {
      return item;
    }
  }
  return nullptr;
}

constexpr size_t kMaxEventName = 96;

/// Writes the name of the event of a kernel, without its namespace: "native_call_add.out". Cut off if it is too long.
void write_kernel_name(const void* op, char* name, size_t size) {
  const auto& called = *static_cast<const executorch_flatbuffer::Operator*>(op);
  size_t used = 0;
  const auto append = [&](const char* text, size_t length) {
    const size_t fitting = std::min(length, size - 1 - used);
    std::memcpy(name + used, text, fitting);
    used += fitting;
  };
  const char* const full = called.name()->c_str();
  const size_t length = called.name()->size();
  const auto* const colon = static_cast<const char*>(std::memchr(full, ':', length));
  const size_t skipped = colon != nullptr && colon[1] == ':' ? static_cast<size_t>(colon - full) + 2 : 0;
  append("native_call_", sizeof("native_call_") - 1);
  append(full + skipped, length - skipped);
  if (called.overload() != nullptr && called.overload()->size() > 0) {
    append(".", 1);
    append(called.overload()->c_str(), called.overload()->size());
  }
  name[used] = '\0';
}

/// Reads the condition of a jump: true means to go on with the next instruction, false to jump.
Result<bool> read_condition(const EValue& value) {
  if (value.isBool()) {
    return value.toBool();
  }
  ET_CHECK_OR_RETURN_ERROR(value.isTensor() && value.toTensor().scalar_type() == ScalarType::Bool, InvalidProgram,
                           "The condition of a jump is of type %s; a Bool or a Bool tensor is expected",
                           tag_to_string(value.tag));
  const Tensor& tensor = value.toTensor();
  // Read as bytes: a byte other than 0 and 1 is not a valid bool, but nonzero.
  const uint8_t* elements = static_cast<const uint8_t*>(tensor.const_data_ptr());
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    if (elements[i] == 0) {
      return false;
    }
  }
  return true;
}

/// Copies the elements instead of making `to` point to them: each value keeps its own planned memory, which another
/// value may use as soon as its lifetime ends.
Error move_tensor(const Tensor& from, const Tensor& to) {
  ET_CHECK_OR_RETURN_ERROR(from.scalar_type() == to.scalar_type(), InvalidProgram,
                           "A tensor of dtype %s is moved to one of dtype %s", toString(from.scalar_type()),
                           toString(to.scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(
      internal::is_dense_on_cpu(from) && internal::dim_order_of(from).equals(internal::dim_order_of(to)),
      InvalidProgram, "A tensor is moved to one of another memory order");
  ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(to, from.sizes()), "A tensor is moved to one that cannot have its shape");
  if (from.nbytes() > 0) {
    std::memmove(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  }
  return Error::Ok;
}

Error move_value(const EValue& from, EValue* to) {
  if (to->isTensor()) {
    return move_tensor(from.toTensor(), to->toTensor());
  }
  internal::release_items(*to);
  *to = from;
  return Error::Ok;
}

}  // namespace

Error Method::run_instruction(const Instruction& instruction, size_t* next) {
  if (ET_UNLIKELY(instruction.check_data) && instruction.kind != Instruction::Kind::Free) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_data(instruction));
  }
  switch (instruction.kind) {
    case Instruction::Kind::Kernel:
      return run_kernel(instruction);
    case Instruction::Kind::Delegate:
      return run_delegate(instruction);
    case Instruction::Kind::Move:
      return move_value(*instruction.args[0], instruction.args[1]);
    case Instruction::Kind::JumpFalse: {
      ET_ASSIGN_OR_RETURN(condition, read_condition(*instruction.args[0]));
      if (!condition) {
        *next = instruction.destination;
      }
      return Error::Ok;
    }
    case Instruction::Kind::Free:
      if (instruction.num_args > 0) {
        internal::set_data(instruction.args[0]->toTensor(), nullptr, 0);
      }
      return Error::Ok;
  }
  return Error::Internal;
}

Error Method::run_kernel(const Instruction& instruction) {
  internal::EventTracerProfileInstructionScope instruction_scope(event_tracer_, static_cast<ChainID>(position_.chain),
                                                                 static_cast<DebugHandle>(position_.instruction));
  KernelRuntimeContext context(event_tracer_, temp_allocator_);
  if (internal::event_tracer_times_kernels(event_tracer_)) {
    event_tracer_->start_kernel();
    internal::call_kernel(instruction.kernel, context, Span<EValue*>(instruction.args, instruction.num_args));
    const auto* op =
        instruction.op == internal::kUnknownOperator ? operator_at(position_) : plan_->operators()->Get(instruction.op);
    event_tracer_->end_kernel(op, write_kernel_name);
  } else {
    internal::EventTracerProfileOpScope scope(event_tracer_, "OPERATOR_CALL");
    EventTracerEntry kernel_event;
    if (internal::event_tracer_measures_all(event_tracer_)) {
      char name[kMaxEventName];
      write_kernel_name(operator_at(position_), name, sizeof(name));
      kernel_event = internal::event_tracer_begin_profiling_event(event_tracer_, name);
    }
    internal::call_kernel(instruction.kernel, context, Span<EValue*>(instruction.args, instruction.num_args));
    internal::event_tracer_end_profiling_event(event_tracer_, kernel_event);
  }
  temp_allocator_->reset();
  const Error error = context.failure_state();
  if (ET_UNLIKELY(error != Error::Ok)) {
    return kernel_failed(error);
  }
  if (instruction.num_args > 0) {  // the last argument is the output, or the list of outputs
    internal::event_tracer_log_evalue(event_tracer_, *instruction.args[instruction.num_args - 1]);
  }
  return error;
}

/// Reports the kernel at position_; returns `error`.
Error Method::kernel_failed(Error error) const {
  ET_LOG(Error, "Operator %s (instruction %zu of method '%s') failed: %s (0x%x)", current_operator_name(),
         position_.instruction, plan_->name()->c_str(), error_name(error), static_cast<unsigned>(error));
  return error;
}

Error Method::run_delegate(const Instruction& instruction) {
  internal::EventTracerProfileInstructionScope instruction_scope(event_tracer_, static_cast<ChainID>(position_.chain),
                                                                 static_cast<DebugHandle>(position_.instruction));
  const Span<EValue*> args(instruction.args, instruction.num_args);
  BackendExecutionContext context(event_tracer_, temp_allocator_, plan_->name()->c_str());
  Error error = Error::Ok;
  {
    internal::EventTracerProfileOpScope scope(event_tracer_, "DELEGATE_CALL");
    error = instruction.delegate->execute(context, args);
  }
  temp_allocator_->reset();
  if (ET_UNLIKELY(error != Error::Ok)) {
    ET_LOG(Error, "Backend %s (instruction %zu of method '%s') failed: %s (0x%x)", instruction.delegate->id(),
           position_.instruction, plan_->name()->c_str(), error_name(error), static_cast<unsigned>(error));
    return error;
  }
  for (EValue* arg : args) {  // log all arguments: only an ETRecord says which are outputs
    internal::event_tracer_log_evalue(event_tracer_, *arg);
  }
  return error;
}

Error Method::check_data(const Instruction& instruction) const {
  for (uint32_t i = 0; i < instruction.num_args; ++i) {
    const EValue* const found = without_data(*instruction.args[i]);
    if (found == nullptr) {
      continue;
    }
    const auto value = found - values_;
    for (size_t output = 0; output < outputs_size(); ++output) {
      ET_CHECK_OR_RETURN_ERROR(
          output_index(output) != value, InvalidState,
          "Output %zu of method '%s' has no planned memory and was given none: call set_output_data_ptr() first",
          output, plan_->name()->c_str());
    }
    ET_LOG(Error,
           "Argument %" PRIu32
           " of instruction %zu (%s) of method '%s' is a tensor without data: value %td has no memory "
           "at this point",
           i, position_.instruction, current_operator_name(), plan_->name()->c_str(), value);
    return Error::InvalidProgram;
  }
  return Error::Ok;
}

/// The operator that an instruction calls; null if it calls none.
const executorch_flatbuffer::Operator* Method::operator_at(Position position) const {
  const auto* call = instruction_at(position).instr_args_as_KernelCall();
  return call == nullptr ? nullptr : plan_->operators()->Get(static_cast<uint32_t>(call->op_index()));
}

const executorch_flatbuffer::Instruction& Method::instruction_at(Position position) const {
  const auto* chain = plan_->chains()->Get(static_cast<uint32_t>(position.chain));
  return *chain->instructions()->Get(static_cast<uint32_t>(position.instruction));
}

const char* Method::current_operator_name() const {
  const auto* op = operator_at(position_);
  return op == nullptr
             ? executorch_flatbuffer::EnumNameInstructionArguments(instruction_at(position_).instr_args_type())
             : op->name()->c_str();
}

}  // namespace runtime
}  // namespace executorch
