// SPDX-License-Identifier: BSD-3-Clause
// The second half of loading a method: checks what instructions do with values, and finds the operators' kernels.
#include <algorithm>
#include <cstring>
#include <new>

#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/executor/instruction.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/name_list.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/kernel/find_kernel.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch_flatbuffer::InstructionArguments;
using internal::Instruction;
using internal::size_of;

namespace {

/// The most tensors that a kernel key can describe; operators with more have fallback kernels only.
constexpr size_t kMaxKeyTensors = 16;

using OperatorName = char[internal::kMaxOperatorNameLength];

/// Writes `name.overload`.
Error get_operator_name(const executorch_flatbuffer::Operator& op, OperatorName& name) {
  const uint32_t overload_length = size_of(op.overload());
  ET_CHECK_PROGRAM(op.name() != nullptr && op.name()->size() + overload_length + 2 <= sizeof(OperatorName),
                   "An operator has no name, or one that is too long");
  std::memcpy(name, op.name()->c_str(), op.name()->size());
  size_t length = op.name()->size();
  if (overload_length > 0) {
    name[length++] = '.';
    std::memcpy(name + length, op.overload()->c_str(), overload_length);
    length += overload_length;
  }
  name[length] = '\0';
  return Error::Ok;
}

/// The values that a list value refers to, or that an instruction works on.
class Operands final {
 public:
  /// The items of a list; an empty list for other values, and -1 for an item that is None.
  explicit Operands(const executorch_flatbuffer::EValue& value) {
    if (const auto* ints = value.val_as_IntList()) {
      wide_ = ints->items();
      size_ = size_of(wide_);
    } else if (const auto* tensors = value.val_as_TensorList()) {
      set(tensors->items());
    } else if (const auto* optional = value.val_as_OptionalTensorList()) {
      set(optional->items());
    }
  }

  /// The operands of an instruction of any kind.
  explicit Operands(const executorch_flatbuffer::Instruction& instruction) {
    switch (instruction.instr_args_type()) {
      case InstructionArguments::KernelCall:
        set(instruction.instr_args_as_KernelCall()->args());
        return;
      case InstructionArguments::DelegateCall:
        set(instruction.instr_args_as_DelegateCall()->args());
        return;
      case InstructionArguments::MoveCall:
        own_[0] = instruction.instr_args_as_MoveCall()->move_from();
        own_[1] = instruction.instr_args_as_MoveCall()->move_to();
        size_ = 2;
        return;
      case InstructionArguments::JumpFalseCall:
        own_[0] = instruction.instr_args_as_JumpFalseCall()->cond_value_index();
        size_ = 1;
        return;
      case InstructionArguments::FreeCall:
        own_[0] = instruction.instr_args_as_FreeCall()->value_index();
        size_ = 1;
        return;
      default:
        return;
    }
  }

  uint32_t size() const { return size_; }

  int32_t operator[](uint32_t i) const {
    if (narrow_ != nullptr) {
      return narrow_->Get(i);
    }
    return wide_ != nullptr ? static_cast<int32_t>(wide_->Get(i)) : own_[i];
  }

 private:
  void set(const flatbuffers::Vector<int32_t>* items) {
    narrow_ = items;
    size_ = size_of(items);
  }

  const flatbuffers::Vector<int32_t>* narrow_ = nullptr;
  const flatbuffers::Vector<int64_t>* wide_ = nullptr;
  int32_t own_[2] = {};
  uint32_t size_ = 0;
};

/// The kernel for these tensors: from the registry or, if the caller gave a list, from the list. The prim operators,
/// which every program may use, need not be in it.
OpFunction find_kernel(const char* name, Span<const TensorMeta> tensors, Span<const Kernel> kernel_registry) {
  if (kernel_registry.empty()) {
    return internal::find_kernel(name, tensors);
  }
  for (const auto& kernels : {kernel_registry, prim_ops::scalar_kernels(), prim_ops::tensor_kernels()}) {
    if (const OpFunction kernel = internal::find_kernel(name, tensors, kernels)) {
      return kernel;
    }
  }
  return nullptr;
}

bool is_view_call(const executorch_flatbuffer::ExecutionPlan& plan, const executorch_flatbuffer::KernelCall& call) {
  const auto& op = *plan.operators()->Get(static_cast<uint32_t>(call.op_index()));
  OperatorName name;
  return get_operator_name(op, name) == Error::Ok && internal::same_text(name, internal::kViewOperator);
}

}  // namespace

/// Determines, for each value, what instructions may do with it.
Error Method::flag_values() {
  if (num_values_ == 0) {
    return Error::Ok;
  }
  value_flags_ = memory_manager_->method_allocator()->allocateList<uint8_t>(num_values_);
  if (value_flags_ == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  for (size_t i = 0; i < num_values_; ++i) {
    const auto& serialized = *plan_->values()->Get(static_cast<uint32_t>(i));
    uint8_t flags = 0;
    if (const auto* tensor = serialized.val_as_Tensor()) {
      const bool planned = tensor->allocation_info() != nullptr;
      const bool external =
          tensor->extra_tensor_info() != nullptr &&
          tensor->extra_tensor_info()->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL;
      if (!planned && (external || tensor->data_buffer_idx() > 0)) {
        flags = kReadOnly;
      } else if (!planned) {
        flags = kMayHaveNoData;
      }
    }
    value_flags_[i] = flags;
  }
  for (size_t i = 0; i < inputs_size(); ++i) {
    uint8_t& flags = value_flags_[input_index(i)];
    if ((flags & kMayHaveNoData) != 0) {
      // execute() expects every input to be set.
      flags = kBorrowed;
    }
  }
  for (size_t i = 0; i < num_values_; ++i) {
    const Operands items(*plan_->values()->Get(static_cast<uint32_t>(i)));
    for (uint32_t k = 0; k < items.size(); ++k) {
      if (items[k] >= 0) {
        value_flags_[items[k]] |= kUsed;
      }
    }
  }
  for (uint32_t c = 0; c < size_of(plan_->chains()); ++c) {
    const auto* instructions = plan_->chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < size_of(instructions); ++i) {
      const auto& instruction = *instructions->Get(i);
      const Operands operands(instruction);
      for (uint32_t k = 0; k < operands.size(); ++k) {
        value_flags_[operands[k]] |= kUsed;
      }
      if (const auto* free_call = instruction.instr_args_as_FreeCall()) {
        uint8_t& flags = value_flags_[free_call->value_index()];
        // The memory of planned and constant values must not be released.
        if ((flags & kBorrowed) != 0) {
          flags |= kMayHaveNoData;
        }
      }
      const auto* call = instruction.instr_args_as_KernelCall();
      if (call != nullptr && is_view_call(*plan_, *call)) {
        ET_CHECK_OK_OR_RETURN_ERROR(note_view(*call));
      }
    }
  }
  // A list may have as many items as there are values, so check them here once instead of at every use.
  for (size_t i = 0; i < num_values_; ++i) {
    const Operands items(*plan_->values()->Get(static_cast<uint32_t>(i)));
    for (uint32_t k = 0; k < items.size(); ++k) {
      if (items[k] >= 0) {
        value_flags_[i] |= value_flags_[items[k]] & kMayHaveNoData;
      }
    }
  }
  return Error::Ok;
}

Error Method::init_chains(Span<const Kernel> kernel_registry) {
  MemoryAllocator* allocator = memory_manager_->method_allocator();
  const uint32_t num_chains = size_of(plan_->chains());
  chains_ = allocator->allocateList<internal::Chain>(num_chains);
  const uint32_t num_operators = size_of(plan_->operators());
  bool* missing = num_operators == 0 ? nullptr : allocator->allocateList<bool>(num_operators);
  if (chains_ == nullptr || (missing == nullptr && num_operators > 0)) {
    return Error::MemoryAllocationFailed;
  }
  for (uint32_t i = 0; i < num_operators; ++i) {
    missing[i] = false;
  }
  for (uint32_t c = 0; c < num_chains; ++c) {
    const auto* serialized = plan_->chains()->Get(c)->instructions();
    const uint32_t count = size_of(serialized);
    Instruction* instructions = nullptr;
    if (count > 0) {
      instructions = allocator->allocateList<Instruction>(count);
      if (instructions == nullptr) {
        return Error::MemoryAllocationFailed;
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(
          init_instruction(*serialized->Get(i), kernel_registry, new (&instructions[i]) Instruction(), missing));
    }
    new (&chains_[c]) internal::Chain(instructions, count);
    ++num_chains_;
  }
  internal::NameList names;
  for (uint32_t i = 0; i < num_operators; ++i) {
    OperatorName name;
    if (missing[i] && get_operator_name(*plan_->operators()->Get(i), name) == Error::Ok) {
      names.add(name);
    }
  }
  ET_CHECK_OR_RETURN_ERROR(
      names.size() == 0, OperatorMissing,
      "Method '%s' needs %zu operators that are not registered for its dtypes and memory orders; link a kernel library "
      "that has them (with a selective build, add them to its list): %s",
      plan_->name()->c_str(), names.size(), names.text());
  return Error::Ok;
}

Error Method::init_instruction(const executorch_flatbuffer::Instruction& serialized, Span<const Kernel> kernel_registry,
                               Instruction* instruction, bool* operator_missing) {
  ET_CHECK_PROGRAM(serialized.instr_args() != nullptr, "An instruction is empty");
  const Operands operands(serialized);
  const uint32_t count = operands.size();
  EValue** args = nullptr;
  if (count > 0) {
    args = memory_manager_->method_allocator()->allocateList<EValue*>(count);
    if (args == nullptr) {
      return Error::MemoryAllocationFailed;
    }
  }
  bool may_have_no_data = false;
  for (uint32_t i = 0; i < count; ++i) {
    args[i] = &values_[operands[i]];
    may_have_no_data |= (value_flags_[operands[i]] & kMayHaveNoData) != 0;
  }
  instruction->args = args;
  instruction->num_args = count;
  instruction->check_data = may_have_no_data;
  switch (serialized.instr_args_type()) {
    case InstructionArguments::KernelCall:
      instruction->kind = Instruction::Kind::Kernel;
      return resolve_kernel(*serialized.instr_args_as_KernelCall(), kernel_registry, instruction, operator_missing);
    case InstructionArguments::DelegateCall:
      instruction->kind = Instruction::Kind::Delegate;
      // The delegate is constructed later, but its address is known.
      instruction->delegate = delegates_ + serialized.instr_args_as_DelegateCall()->delegate_index();
      return Error::Ok;
    case InstructionArguments::MoveCall:
      instruction->kind = Instruction::Kind::Move;
      return args[1]->isTensor() ? check_writable(serialized.instr_args_as_MoveCall()->move_to(), "A move") : Error::Ok;
    case InstructionArguments::JumpFalseCall:
      instruction->kind = Instruction::Kind::JumpFalse;
      instruction->destination =
          static_cast<uint32_t>(serialized.instr_args_as_JumpFalseCall()->destination_instruction());
      return Error::Ok;
    case InstructionArguments::FreeCall:
      instruction->kind = Instruction::Kind::Free;
      instruction->num_args = may_have_no_data ? 1 : 0;
      return Error::Ok;
    default:
      ET_CHECK_PROGRAM(false, "An instruction has the unknown type %u",
                       static_cast<unsigned>(serialized.instr_args_type()));
  }
}

Error Method::resolve_kernel(const executorch_flatbuffer::KernelCall& call, Span<const Kernel> kernel_registry,
                             Instruction* instruction, bool* operator_missing) {
  const auto op_index = static_cast<uint32_t>(call.op_index());
  instruction->op = static_cast<uint16_t>(std::min<uint32_t>(op_index, internal::kUnknownOperator));
  OperatorName name;
  ET_CHECK_OK_OR_RETURN_ERROR(get_operator_name(*plan_->operators()->Get(op_index), name));
  ET_CHECK_OK_OR_RETURN_ERROR(check_kernel_outputs(call, name));
  ET_CHECK_OK_OR_RETURN_ERROR(check_operand_memory(call, name));
  if (internal::same_text(name, internal::kViewOperator)) {
    // This operator sets the data of its output, and checks its input itself.
    instruction->check_data = false;
  }
  TensorMeta tensors[kMaxKeyTensors];
  size_t num_tensors = 0;
  for (uint32_t i = 0; i < instruction->num_args; ++i) {
    EValue* value = instruction->args[i];
    if (!value->isTensor()) {
      // For a list, the key uses its first tensor.
      const Operands items(*plan_->values()->Get(static_cast<uint32_t>(call.args()->Get(i))));
      uint32_t first = 0;
      while (first < items.size() && items[first] < 0) {
        ++first;
      }
      if (first == items.size() || !values_[items[first]].isTensor()) {
        continue;
      }
      value = &values_[items[first]];
    }
    if (num_tensors == kMaxKeyTensors) {
      num_tensors = 0;
      break;
    }
    const auto& tensor = value->toTensor();
#ifdef USE_ATEN_LIB
    // Strides of at::Tensor do not determine the order of dimensions of size 1, so read the dim order from the program.
    const auto* order = plan_->values()->Get(static_cast<uint32_t>(value - values_))->val_as_Tensor()->dim_order();
    const executorch::aten::ArrayRef<uint8_t> dim_order(order == nullptr ? nullptr : order->data(), size_of(order));
#else
    const auto dim_order = tensor.dim_order();
#endif
    tensors[num_tensors++] = TensorMeta(
        tensor.scalar_type(), Span<executorch::aten::DimOrderType>(
                                  const_cast<executorch::aten::DimOrderType*>(dim_order.data()), dim_order.size()));
  }
  const Span<const TensorMeta> key(tensors, num_tensors);
  instruction->kernel = find_kernel(name, key, kernel_registry);
  if (ET_LOG_ENABLED && instruction->kernel == nullptr && !operator_missing[op_index] &&
      find_kernel(name, {}, kernel_registry) != nullptr) {
    // There are kernels for other tensors: log for which tensors one is missing.
    (void)(kernel_registry.empty() ? get_op_function_from_registry(name, key)
                                   : get_op_function_from_registry(name, key, kernel_registry));
  }
  operator_missing[op_index] |= instruction->kernel == nullptr;
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
