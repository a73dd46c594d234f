// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/executor/dynamic_sizes.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/executor/seen_tables.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace {

using executorch_flatbuffer::KernelTypes;

/// Checks the values, operators and instructions of one method. Every message starts with its name.
class PlanValidator final {
 public:
  PlanValidator(const executorch_flatbuffer::Program& program, const executorch_flatbuffer::ExecutionPlan& plan)
      : program_(program),
        plan_(plan),
        name_(plan.name()->c_str()),
        values_(plan.values()),
        num_values_(size_of(values_)),
        num_operators_(size_of(plan.operators())),
        num_delegates_(size_of(plan.delegates())) {}

  Error validate() {
    seen_.clear();
    for (uint32_t i = 0; i < num_values_; ++i) {
      const auto* value = values_->Get(i);
      if (!seen_.has(value)) {
        place_ = {name_, "value", i};
        ET_CHECK_OK_OR_RETURN_ERROR(validate_value(*value, i));
        seen_.mark(value);
      }
    }
    ET_CHECK_OK_OR_RETURN_ERROR(validate_indices(plan_.inputs(), "input"));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_indices(plan_.outputs(), "output"));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_dynamic_sizes(plan_));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_operators());
    const auto* chains = plan_.chains();
    ET_CHECK_PROGRAM(size_of(chains) > 0, "Method '%s' has no chain of instructions", name_);
    for (const auto* chain : *chains) {
      ET_CHECK_OK_OR_RETURN_ERROR(validate_chain(*chain));
    }
    return Error::Ok;
  }

 private:
  static bool is_known(executorch_flatbuffer::DeviceType type) {
    return type >= executorch_flatbuffer::DeviceType::MIN && type <= executorch_flatbuffer::DeviceType::MAX;
  }

  KernelTypes type_of(uint32_t index) const { return values_->Get(index)->val_type(); }

  // A negative index is a huge unsigned one.
  bool is_value(int32_t index) const { return static_cast<uint32_t>(index) < num_values_; }
  bool is_value(int64_t index) const { return static_cast<uint64_t>(index) < num_values_; }

  template <typename Index>
  bool is_value(Index index, KernelTypes type) const {
    return is_value(index) && type_of(static_cast<uint32_t>(index)) == type;
  }

  Error validate_value(const executorch_flatbuffer::EValue& value, uint32_t index) {
    ET_CHECK_AT(
        place_, value.val() != nullptr && value.val_type() > KernelTypes::NONE && value.val_type() <= KernelTypes::MAX,
        "its field val is empty or of the unknown type %u: this runtime (schema of ExecuTorch 1.5) reads up to %u",
        static_cast<unsigned>(value.val_type()), static_cast<unsigned>(KernelTypes::MAX));
    switch (value.val_type()) {
      case KernelTypes::Tensor:
        return validate_tensor_value(*value.val_as_Tensor(), index);
      case KernelTypes::String:
        ET_CHECK_AT(place_, value.val_as_String()->string_val() != nullptr, "a string without text");
        return Error::Ok;
      case KernelTypes::IntList:
        return validate_list(value.val_as_IntList()->items(), KernelTypes::Int, false);
      case KernelTypes::TensorList:
        return validate_list(value.val_as_TensorList()->items(), KernelTypes::Tensor, false);
      case KernelTypes::OptionalTensorList:
        return validate_list(value.val_as_OptionalTensorList()->items(), KernelTypes::Tensor, true);
      case KernelTypes::DoubleList:
        ET_CHECK_AT(place_,
                    value.val_as_DoubleList()->items() != nullptr && is_aligned(value.val_as_DoubleList()->items()),
                    "the list is absent or not aligned to 8 bytes");
        return Error::Ok;
      case KernelTypes::BoolList:
        return validate_bools(value.val_as_BoolList()->items());
      default:
        return Error::Ok;
    }
  }

  Error validate_bools(const flatbuffers::Vector<uint8_t>* items) {
    ET_CHECK_AT(place_, items != nullptr, "the list is absent");
    for (const uint8_t item : *items) {
      ET_CHECK_AT(place_, item <= 1, "the list holds %u, no bool", unsigned{item});
    }
    return Error::Ok;
  }

  template <typename Item>
  Error validate_list(const flatbuffers::Vector<Item>* items, KernelTypes expected, bool optional) {
    ET_CHECK_AT(place_, items != nullptr && is_aligned(items), "the list is absent or not aligned");
    for (uint32_t i = 0; i < items->size(); ++i) {
      const Item item = items->Get(i);
      const bool is_none = optional && (item == -1 || is_value(item, KernelTypes::Null));
      ET_CHECK_AT(place_, is_none || is_value(item, expected),
                  "item %" PRIu32 " of the list is value %" PRId64 ", which is not of type %s", i, int64_t{item},
                  executorch_flatbuffer::EnumNameKernelTypes(expected));
    }
    return Error::Ok;
  }

  bool is_input(uint32_t index) const {
    const auto* inputs = plan_.inputs();
    return inputs != nullptr && std::find(inputs->begin(), inputs->end(), static_cast<int32_t>(index)) != inputs->end();
  }

  Error validate_tensor_value(const executorch_flatbuffer::Tensor& tensor, uint32_t index) {
    size_t nbytes = 0;
    const auto* allocation = tensor.allocation_info();
    // The bounds of an input that the application owns may be larger than any memory: the tensor it passes is checked.
    const bool is_bound = kBoundsMayOverflow &&
                          tensor.shape_dynamism() == executorch_flatbuffer::TensorShapeDynamism::DYNAMIC_BOUND &&
                          allocation == nullptr && tensor.data_buffer_idx() == 0 && is_input(index);
    ET_CHECK_OK_OR_RETURN_ERROR(validate_tensor_layout(tensor, place_, &nbytes, is_bound));
    if (allocation != nullptr) {
      const uint32_t id = allocation->memory_id();
      const auto* buffer_sizes = plan_.non_const_buffer_sizes();
      ET_CHECK_AT(place_, id > 0 && id < size_of(buffer_sizes),
                  "a tensor is in planned buffer %" PRIu32 "; there are buffers 1 to %" PRId64, id,
                  static_cast<int64_t>(size_of(buffer_sizes)) - 1);
      const uint64_t offset = allocation->memory_offset_low() | static_cast<uint64_t>(allocation->memory_offset_high())
                                                                    << 32;
      const int64_t size = buffer_sizes->Get(id);
      ET_CHECK_AT(place_, (CheckedSize(offset) + CheckedSize(nbytes)).at_most(static_cast<uint64_t>(size)),
                  "a tensor has %zu bytes at offset %" PRIu64 " of planned buffer %" PRIu32 ", which has %" PRId64
                  " bytes",
                  nbytes, offset, id, size);
    }
    const auto* extra = tensor.extra_tensor_info();
    if (extra != nullptr) {
      ET_CHECK_AT(place_, is_known(extra->device_type()), "a tensor is on the unknown device %d",
                  static_cast<int>(extra->device_type()));
      ET_CHECK_AT(place_,
                  extra->location() >= executorch_flatbuffer::TensorDataLocation::MIN &&
                      extra->location() <= executorch_flatbuffer::TensorDataLocation::MAX,
                  "the data of a tensor is in the unknown place %d", static_cast<int>(extra->location()));
      if (extra->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL) {
        ET_CHECK_AT(place_, extra->fully_qualified_name() != nullptr,
                    "the data of a tensor is in another file, but under no name");
        return Error::Ok;
      }
    }
    if (tensor.data_buffer_idx() == 0) {
      return Error::Ok;
    }
    return allocation == nullptr ? validate_constant(tensor.data_buffer_idx(), nbytes)
                                 : validate_initial_value(tensor, nbytes);
  }

  Error validate_constant(uint32_t index, size_t nbytes) {
    const auto* constants = program_.constant_buffer();
    if (size_of(constants) > 0) {
      ET_CHECK_AT(place_, index < constants->size(), "a tensor uses constant %" PRIu32 " of %" PRIu32, index,
                  constants->size());
      const uint32_t size = size_of(constants->Get(index)->storage());
      ET_CHECK_AT(place_, nbytes <= size, "a tensor of %zu bytes uses constant %" PRIu32 " of %" PRIu32 " bytes",
                  nbytes, index, size);
      return Error::Ok;
    }
    return validate_subsegment(program_.constant_segment(), index, nbytes, "constant");
  }

  Error validate_initial_value(const executorch_flatbuffer::Tensor& tensor, size_t nbytes) {
    const auto* extra = tensor.extra_tensor_info();
    const uint64_t which = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
    const auto* all = program_.mutable_data_segments();
    ET_CHECK_AT(place_, which < size_of(all),
                "the initial value of a tensor is in mutable data segment %" PRIu64 " of %" PRIu32, which,
                size_of(all));
    const auto* subsegments = all->Get(static_cast<uint32_t>(which));
    return validate_subsegment(subsegments, tensor.data_buffer_idx(), nbytes, "initial value");
  }

  Error validate_subsegment(const executorch_flatbuffer::SubsegmentOffsets* subsegments, uint32_t index, size_t nbytes,
                            const char* what) {
    const uint32_t count = subsegments == nullptr ? 0 : size_of(subsegments->offsets());
    ET_CHECK_AT(place_, index < count, "a tensor uses %s %" PRIu32 " of %" PRIu32, what, index, count);
    const uint64_t size = program_.segments()->Get(subsegments->segment_index())->size();
    const uint64_t offset = subsegments->offsets()->Get(index);
    ET_CHECK_AT(place_, (CheckedSize(offset) + CheckedSize(nbytes)).at_most(size),
                "a tensor of %zu bytes uses %s %" PRIu32 " at byte %" PRIu64 " of a segment of %" PRIu64 " bytes",
                nbytes, what, index, offset, size);
    return Error::Ok;
  }

  Error validate_indices(const flatbuffers::Vector<int32_t>* indices, const char* what) {
    for (uint32_t i = 0; i < size_of(indices); ++i) {
      ET_CHECK_PROGRAM(is_value(indices->Get(i)), "Method '%s': %s %" PRIu32 " is value %" PRId32 " of %" PRIu32, name_,
                       what, i, indices->Get(i), num_values_);
    }
    return Error::Ok;
  }

  Error validate_operators() {
    const auto* operators = plan_.operators();
    for (uint32_t i = 0; i < num_operators_; ++i) {
      const auto* op = operators->Get(i);
      const uint32_t length = size_of(op->name());
      ET_CHECK_PROGRAM(length > 0, "Method '%s': operator %" PRIu32 " has no name", name_, i);
      ET_CHECK_PROGRAM(length + size_of(op->overload()) + 2 <= kMaxOperatorNameLength,
                       "Method '%s': the name of operator %" PRIu32 " has more than %zu characters", name_, i,
                       kMaxOperatorNameLength - 2);
    }
    return Error::Ok;
  }

  ET_NOINLINE Error validate_chain(const executorch_flatbuffer::Chain& chain) {
    ET_CHECK_OK_OR_RETURN_ERROR(validate_indices(chain.inputs(), "chain input"));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_indices(chain.outputs(), "chain output"));
    const auto* instructions = chain.instructions();
    const uint32_t count = size_of(instructions);
    seen_.clear();  // jump targets depend on the chain
    for (uint32_t i = 0; i < count; ++i) {
      const auto* instruction = instructions->Get(i);
      if (!seen_.has(instruction)) {
        place_ = {name_, "instruction", i};
        ET_CHECK_AT(place_, instruction->instr_args() != nullptr, "it is empty");
        ET_CHECK_OK_OR_RETURN_ERROR(validate_instruction(*instruction, count));
        seen_.mark(instruction);
      }
    }
    return Error::Ok;
  }

  Error validate_instruction(const executorch_flatbuffer::Instruction& instruction, uint32_t count) {
    switch (instruction.instr_args_type()) {
      case executorch_flatbuffer::InstructionArguments::KernelCall: {
        const auto* call = instruction.instr_args_as_KernelCall();
        ET_CHECK_AT(place_, static_cast<uint32_t>(call->op_index()) < num_operators_,
                    "it calls operator %" PRId32 " of %" PRIu32, call->op_index(), num_operators_);
        return validate_args(call->args());
      }
      case executorch_flatbuffer::InstructionArguments::DelegateCall: {
        const auto* call = instruction.instr_args_as_DelegateCall();
        ET_CHECK_AT(place_, static_cast<uint32_t>(call->delegate_index()) < num_delegates_,
                    "it calls delegate %" PRId32 " of %" PRIu32, call->delegate_index(), num_delegates_);
        return validate_args(call->args());
      }
      case executorch_flatbuffer::InstructionArguments::MoveCall:
        return validate_move(*instruction.instr_args_as_MoveCall());
      case executorch_flatbuffer::InstructionArguments::JumpFalseCall:
        return validate_jump(*instruction.instr_args_as_JumpFalseCall(), count);
      case executorch_flatbuffer::InstructionArguments::FreeCall: {
        const int32_t index = instruction.instr_args_as_FreeCall()->value_index();
        ET_CHECK_AT(place_, is_value(index, KernelTypes::Tensor), "it frees value %" PRId32 ", which is not a Tensor",
                    index);
        return Error::Ok;
      }
      default:
        ET_CHECK_AT(
            place_, false,
            "its field instr_args has the unknown type %u: this runtime (schema of ExecuTorch 1.5) reads up to %u",
            static_cast<unsigned>(instruction.instr_args_type()),
            static_cast<unsigned>(executorch_flatbuffer::InstructionArguments::MAX));
    }
  }

  Error validate_args(const flatbuffers::Vector<int32_t>* args) {
    for (uint32_t i = 0; i < size_of(args); ++i) {
      ET_CHECK_AT(place_, is_value(args->Get(i)), "argument %" PRIu32 " is value %" PRId32 " of %" PRIu32, i,
                  args->Get(i), num_values_);
    }
    return Error::Ok;
  }

  static bool is_scalar(KernelTypes type) {
    return type == KernelTypes::Null || type == KernelTypes::Int || type == KernelTypes::Double ||
           type == KernelTypes::Bool;
  }

  /// A value keeps its kind for as long as the method lives: lists refer to it, and instructions are bound to it.
  Error validate_move(const executorch_flatbuffer::MoveCall& move) {
    ET_CHECK_AT(place_, is_value(move.move_from()) && is_value(move.move_to()),
                "it moves value %" PRId32 " to value %" PRId32 " of %" PRIu32, move.move_from(), move.move_to(),
                num_values_);
    const KernelTypes from = type_of(static_cast<uint32_t>(move.move_from()));
    const KernelTypes to = type_of(static_cast<uint32_t>(move.move_to()));
    ET_CHECK_AT(place_, from == to || (is_scalar(from) && is_scalar(to)), "it moves a %s to a %s",
                executorch_flatbuffer::EnumNameKernelTypes(from), executorch_flatbuffer::EnumNameKernelTypes(to));
    return Error::Ok;
  }

  Error validate_jump(const executorch_flatbuffer::JumpFalseCall& jump, uint32_t count) {
    const int32_t condition = jump.cond_value_index();
    // A condition computed while the method runs may be any scalar in the file; its type is checked at the jump.
    const bool is_condition =
        is_value(condition) && (is_scalar(type_of(static_cast<uint32_t>(condition))) ||
                                (is_value(condition, KernelTypes::Tensor) &&
                                 values_->Get(static_cast<uint32_t>(condition))->val_as_Tensor()->scalar_type() ==
                                     executorch_flatbuffer::ScalarType::BOOL));
    ET_CHECK_AT(place_, is_condition, "it jumps on value %" PRId32 ", which is not a Bool or Bool tensor", condition);
    // One past the last instruction is the end of the chain.
    ET_CHECK_AT(place_,
                jump.destination_instruction() >= 0 && static_cast<uint32_t>(jump.destination_instruction()) <= count,
                "it jumps to instruction %" PRId32 " of %" PRIu32, jump.destination_instruction(), count);
    return Error::Ok;
  }

  const executorch_flatbuffer::Program& program_;
  const executorch_flatbuffer::ExecutionPlan& plan_;
  const char* name_;
  const flatbuffers::Vector<flatbuffers::Offset<executorch_flatbuffer::EValue>>* values_;
  uint32_t num_values_;
  uint32_t num_operators_;
  uint32_t num_delegates_;
  SeenTables seen_;
  /// What is being checked, for messages.
  Place place_;
};

}  // namespace

Error validate_plan(const executorch_flatbuffer::Program& program, const executorch_flatbuffer::ExecutionPlan& plan) {
  return PlanValidator(program, plan).validate();
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
