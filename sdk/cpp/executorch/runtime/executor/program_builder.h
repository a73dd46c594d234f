// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace fb = ::executorch_flatbuffer;

/// A tensor of a program under test; what is not set is what an exporter writes for a planned float tensor.
struct TensorSpec {
  std::vector<int32_t> sizes;
  fb::ScalarType type = fb::ScalarType::FLOAT;
  bool planned = true;
  uint32_t memory_id = 1;
  uint32_t offset = 0;
  uint32_t offset_high = 0;
  uint32_t data_buffer_idx = 0;
  fb::TensorShapeDynamism dynamism = fb::TensorShapeDynamism::STATIC;
  std::vector<uint8_t> dim_order = {};
  std::string name = {};
  fb::TensorDataLocation location = fb::TensorDataLocation::SEGMENT;
};

/// Bytes at a multiple of 16, on the heap with nothing behind them.
class ProgramBytes {
 public:
  ProgramBytes(const uint8_t* data, size_t size) : data_(static_cast<uint8_t*>(std::malloc(size))), size_(size) {
    std::memcpy(data_.get(), data, size);
  }
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_;
};

/// Writes small programs without segments, also wrong ones: nothing is checked.
class ProgramBuilder {
 public:
  int32_t tensor(const TensorSpec& spec) {
    auto dim_order = spec.dim_order;
    for (size_t i = 0; dim_order.size() < spec.sizes.size() && spec.dim_order.empty(); ++i) {
      dim_order.push_back(static_cast<uint8_t>(i));
    }
    const auto sizes = builder_.CreateVector(spec.sizes);
    const auto order = builder_.CreateVector(dim_order);
    flatbuffers::Offset<fb::ExtraTensorInfo> extra;
    if (!spec.name.empty()) {
      extra = fb::CreateExtraTensorInfo(builder_, 0, builder_.CreateString(spec.name), spec.location);
    }
    flatbuffers::Offset<fb::AllocationDetails> allocation;
    if (spec.planned) {
      allocation = fb::CreateAllocationDetails(builder_, spec.memory_id, spec.offset, spec.offset_high);
    }
    const auto tensor = fb::CreateTensor(builder_, spec.type, 0, sizes, order, false, spec.data_buffer_idx, allocation,
                                         0, spec.dynamism, extra);
    return value(fb::KernelTypes::Tensor, tensor.Union());
  }

  int32_t null() { return value(fb::KernelTypes::Null, fb::CreateNull(builder_).Union()); }
  int32_t integer(int64_t number) { return value(fb::KernelTypes::Int, fb::CreateInt(builder_, number).Union()); }
  int32_t boolean(bool flag) { return value(fb::KernelTypes::Bool, fb::CreateBool(builder_, flag).Union()); }
  int32_t int_list(const std::vector<int64_t>& items) {
    return value(fb::KernelTypes::IntList, fb::CreateIntList(builder_, builder_.CreateVector(items)).Union());
  }
  int32_t tensor_list(const std::vector<int32_t>& items) {
    return value(fb::KernelTypes::TensorList, fb::CreateTensorList(builder_, builder_.CreateVector(items)).Union());
  }
  int32_t optional_tensor_list(const std::vector<int32_t>& items) {
    return value(fb::KernelTypes::OptionalTensorList,
                 fb::CreateOptionalTensorList(builder_, builder_.CreateVector(items)).Union());
  }
  int32_t bool_list(const std::vector<uint8_t>& items) {
    return value(fb::KernelTypes::BoolList, fb::CreateBoolList(builder_, builder_.CreateVector(items)).Union());
  }
  /// A union value as it stands, for types that do not exist.
  int32_t value(fb::KernelTypes type, flatbuffers::Offset<void> table) {
    values_.push_back(fb::CreateEValue(builder_, type, table));
    return static_cast<int32_t>(values_.size() - 1);
  }

  int32_t op(const std::string& name, const std::string& overload) {
    operators_.push_back(fb::CreateOperator(builder_, builder_.CreateString(name), builder_.CreateString(overload)));
    return static_cast<int32_t>(operators_.size() - 1);
  }
  void backend(const std::string& id, uint32_t data_index = 0) {
    const auto name = builder_.CreateString(id);
    const auto data = fb::CreateBackendDelegateDataReference(builder_, fb::DataLocation::INLINE, data_index);
    delegates_.push_back(fb::CreateBackendDelegate(builder_, name, data));
  }

  void call(int32_t op_index, const std::vector<int32_t>& args) {
    instruction(fb::InstructionArguments::KernelCall,
                fb::CreateKernelCall(builder_, op_index, builder_.CreateVector(args)).Union());
  }
  void call_delegate(int32_t delegate, const std::vector<int32_t>& args) {
    instruction(fb::InstructionArguments::DelegateCall,
                fb::CreateDelegateCall(builder_, delegate, builder_.CreateVector(args)).Union());
  }
  void move(int32_t from, int32_t to) {
    instruction(fb::InstructionArguments::MoveCall, fb::CreateMoveCall(builder_, from, to).Union());
  }
  void jump_false(int32_t condition, int32_t destination) {
    instruction(fb::InstructionArguments::JumpFalseCall,
                fb::CreateJumpFalseCall(builder_, condition, destination).Union());
  }
  void free_value(int32_t index) {
    instruction(fb::InstructionArguments::FreeCall, fb::CreateFreeCall(builder_, index).Union());
  }

  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<int64_t> planned_sizes = {0, 256};
  /// Inline constants from index 1 on; index 0 is reserved.
  std::vector<std::vector<uint8_t>> constants;
  std::vector<std::string> names = {"forward"};

  /// A program whose methods are all the same.
  ProgramBytes finish() {
    const auto chain = fb::CreateChain(builder_, 0, 0, builder_.CreateVector(instructions_));
    const auto chains = builder_.CreateVector(&chain, 1);
    const auto values = builder_.CreateVector(values_);
    const auto operators = builder_.CreateVector(operators_);
    const auto delegates = builder_.CreateVector(delegates_);
    const auto planned = builder_.CreateVector(planned_sizes);
    const auto input_indices = builder_.CreateVector(inputs);
    const auto output_indices = builder_.CreateVector(outputs);
    std::vector<flatbuffers::Offset<fb::ExecutionPlan>> plans;
    for (const auto& name : names) {
      const auto text = builder_.CreateString(name);
      plans.push_back(fb::CreateExecutionPlan(builder_, text, 0, values, input_indices, output_indices, chains,
                                              operators, delegates, planned));
    }
    std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
    if (!constants.empty()) {
      buffers.push_back(fb::CreateBuffer(builder_));
    }
    for (const auto& constant : constants) {
      builder_.ForceVectorAlignment(constant.size(), 1, 16);
      buffers.push_back(fb::CreateBuffer(builder_, builder_.CreateVector(constant)));
    }
    const auto all_plans = builder_.CreateVector(plans);
    const auto all_buffers = builder_.CreateVector(buffers);
    builder_.Finish(fb::CreateProgram(builder_, 0, all_plans, all_buffers), fb::ProgramIdentifier());
    return ProgramBytes(builder_.GetBufferPointer(), builder_.GetSize());
  }

 private:
  void instruction(fb::InstructionArguments type, flatbuffers::Offset<void> args) {
    instructions_.push_back(fb::CreateInstruction(builder_, type, args));
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<fb::EValue>> values_;
  std::vector<flatbuffers::Offset<fb::Operator>> operators_;
  std::vector<flatbuffers::Offset<fb::BackendDelegate>> delegates_;
  std::vector<flatbuffers::Offset<fb::Instruction>> instructions_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
