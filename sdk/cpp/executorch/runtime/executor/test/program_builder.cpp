// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/program_builder.h>

#include <executorch/schema/extended_header.h>

namespace executorch {
namespace runtime {
namespace testing {
namespace {

size_t align(size_t size) {
  constexpr size_t kSegmentAlignment = 16;
  return (size + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
}

}  // namespace

ProgramBuilder::ProgramBuilder() = default;
ProgramBuilder::~ProgramBuilder() = default;

int32_t ProgramBuilder::tensor(const TensorSpec& spec) {
  auto dim_order = spec.dim_order;
  for (size_t i = 0; dim_order.size() < spec.sizes.size() && spec.dim_order.empty(); ++i) {
    dim_order.push_back(static_cast<uint8_t>(i));
  }
  const auto sizes = builder_.CreateVector(spec.sizes);
  const auto order = builder_.CreateVector(dim_order);
  flatbuffers::Offset<fb::ExtraTensorInfo> extra;
  if (!spec.name.empty() || spec.device != fb::DeviceType::CPU) {
    const auto name = spec.name.empty() ? 0 : builder_.CreateString(spec.name);
    extra = fb::CreateExtraTensorInfo(builder_, 0, name, spec.location, spec.device);
  }
  flatbuffers::Offset<fb::AllocationDetails> allocation;
  if (spec.planned) {
    allocation = fb::CreateAllocationDetails(builder_, spec.memory_id, spec.offset, spec.offset_high);
  }
  const auto tensor = fb::CreateTensor(builder_, spec.type, 0, sizes, order, false, spec.data_buffer_idx, allocation, 0,
                                       spec.dynamism, extra);
  return value(fb::KernelTypes::Tensor, tensor.Union());
}

int32_t ProgramBuilder::null() {
  return value(fb::KernelTypes::Null, fb::CreateNull(builder_).Union());
}

int32_t ProgramBuilder::integer(int64_t number) {
  return value(fb::KernelTypes::Int, fb::CreateInt(builder_, number).Union());
}

int32_t ProgramBuilder::real(double number) {
  return value(fb::KernelTypes::Double, fb::CreateDouble(builder_, number).Union());
}

int32_t ProgramBuilder::string(const std::string& text) {
  return value(fb::KernelTypes::String, fb::CreateString(builder_, builder_.CreateString(text)).Union());
}

int32_t ProgramBuilder::boolean(bool flag) {
  return value(fb::KernelTypes::Bool, fb::CreateBool(builder_, flag).Union());
}

int32_t ProgramBuilder::int_list(const std::vector<int64_t>& items) {
  return value(fb::KernelTypes::IntList, fb::CreateIntList(builder_, builder_.CreateVector(items)).Union());
}

int32_t ProgramBuilder::tensor_list(const std::vector<int32_t>& items) {
  return value(fb::KernelTypes::TensorList, fb::CreateTensorList(builder_, builder_.CreateVector(items)).Union());
}

int32_t ProgramBuilder::optional_tensor_list(const std::vector<int32_t>& items) {
  return value(fb::KernelTypes::OptionalTensorList,
               fb::CreateOptionalTensorList(builder_, builder_.CreateVector(items)).Union());
}

int32_t ProgramBuilder::bool_list(const std::vector<uint8_t>& items) {
  return value(fb::KernelTypes::BoolList, fb::CreateBoolList(builder_, builder_.CreateVector(items)).Union());
}

int32_t ProgramBuilder::double_list(const std::vector<double>& items) {
  return value(fb::KernelTypes::DoubleList, fb::CreateDoubleList(builder_, builder_.CreateVector(items)).Union());
}

int32_t ProgramBuilder::value(fb::KernelTypes type, flatbuffers::Offset<void> table) {
  values_.push_back(fb::CreateEValue(builder_, type, table));
  return static_cast<int32_t>(values_.size() - 1);
}

int32_t ProgramBuilder::op(const std::string& name, const std::string& overload) {
  operators_.push_back(fb::CreateOperator(builder_, builder_.CreateString(name), builder_.CreateString(overload)));
  return static_cast<int32_t>(operators_.size() - 1);
}

int32_t ProgramBuilder::backend(const std::string& id, uint32_t data_index, fb::DataLocation where,
                                const std::vector<std::pair<std::string, std::vector<uint8_t>>>& specs) {
  const auto name = builder_.CreateString(id);
  const auto data = fb::CreateBackendDelegateDataReference(builder_, where, data_index);
  std::vector<flatbuffers::Offset<fb::CompileSpec>> all;
  for (const auto& [key, value] : specs) {
    const auto text = builder_.CreateString(key);
    all.push_back(fb::CreateCompileSpec(builder_, text, builder_.CreateVector(value)));
  }
  delegates_.push_back(fb::CreateBackendDelegate(builder_, name, data, builder_.CreateVector(all)));
  return static_cast<int32_t>(delegates_.size() - 1);
}

void ProgramBuilder::call(int32_t op_index, const std::vector<int32_t>& args) {
  instruction(fb::InstructionArguments::KernelCall,
              fb::CreateKernelCall(builder_, op_index, builder_.CreateVector(args)).Union());
}

void ProgramBuilder::call_delegate(int32_t delegate, const std::vector<int32_t>& args) {
  instruction(fb::InstructionArguments::DelegateCall,
              fb::CreateDelegateCall(builder_, delegate, builder_.CreateVector(args)).Union());
}

void ProgramBuilder::move(int32_t from, int32_t to) {
  instruction(fb::InstructionArguments::MoveCall, fb::CreateMoveCall(builder_, from, to).Union());
}

void ProgramBuilder::jump_false(int32_t condition, int32_t destination) {
  instruction(fb::InstructionArguments::JumpFalseCall,
              fb::CreateJumpFalseCall(builder_, condition, destination).Union());
}

void ProgramBuilder::unknown_value() {
  value(static_cast<fb::KernelTypes>(200), fb::CreateNull(builder_).Union());
}

void ProgramBuilder::unknown_instruction() {
  instruction(static_cast<fb::InstructionArguments>(200), fb::CreateFreeCall(builder_, 0).Union());
}

void ProgramBuilder::free_value(int32_t index) {
  instruction(fb::InstructionArguments::FreeCall, fb::CreateFreeCall(builder_, index).Union());
}

ProgramBytes ProgramBuilder::finish() {
  const auto chain = fb::CreateChain(builder_, 0, 0, builder_.CreateVector(instructions_));
  const auto chains = builder_.CreateVector(&chain, 1);
  const auto values = builder_.CreateVector(values_);
  const auto operators = builder_.CreateVector(operators_);
  const auto delegates = builder_.CreateVector(delegates_);
  const auto planned = builder_.CreateVector(planned_sizes);
  std::vector<flatbuffers::Offset<fb::NonConstBufferDevice>> devices;
  for (const auto& [index, device] : planned_devices) {
    devices.push_back(fb::CreateNonConstBufferDevice(builder_, index, device));
  }
  const auto all_devices = builder_.CreateVector(devices);
  const auto input_indices = builder_.CreateVector(inputs);
  const auto output_indices = builder_.CreateVector(outputs);
  flatbuffers::Offset<flatbuffers::Vector<int32_t>> dynamic;
  if (dynamic_sizes.has_value()) {
    dynamic = builder_.CreateVector(*dynamic_sizes);
  }
  std::vector<flatbuffers::Offset<fb::ExecutionPlan>> plans;
  for (const auto& name : names) {
    const auto text = builder_.CreateString(name);
    plans.push_back(fb::CreateExecutionPlan(builder_, text, 0, values, input_indices, output_indices, chains, operators,
                                            delegates, planned, all_devices, dynamic, shared_buffer));
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
  std::vector<flatbuffers::Offset<fb::BackendDelegateInlineData>> inline_data;
  for (const auto& payload : payloads) {
    builder_.ForceVectorAlignment(payload.size(), 1, 16);
    inline_data.push_back(fb::CreateBackendDelegateInlineData(builder_, builder_.CreateVector(payload)));
  }
  const auto all_inline_data = builder_.CreateVector(inline_data);
  const auto all_segments = builder_.CreateVector(describe_segments());
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SubsegmentOffsets>>> mutable_data;
  if (!mutable_offsets.empty()) {
    const auto offsets = fb::CreateSubsegmentOffsets(builder_, mutable_segment, builder_.CreateVector(mutable_offsets));
    mutable_data = builder_.CreateVector(&offsets, 1);
  }
  flatbuffers::Offset<fb::SubsegmentOffsets> constant_data;
  if (!constant_offsets.empty()) {
    constant_data = fb::CreateSubsegmentOffsets(builder_, constant_segment, builder_.CreateVector(constant_offsets));
  }
  std::vector<flatbuffers::Offset<fb::NamedData>> named;
  for (const auto& [key, segment] : named_data) {
    named.push_back(fb::CreateNamedData(builder_, builder_.CreateString(key), segment));
  }
  const auto all_named = builder_.CreateVector(named);
  builder_.Finish(fb::CreateProgram(builder_, version, all_plans, all_buffers, all_inline_data, all_segments,
                                    constant_data, mutable_data, all_named),
                  fb::ProgramIdentifier());
  return segments.empty() ? ProgramBytes(builder_.GetBufferPointer(), builder_.GetSize()) : with_segments();
}

std::vector<flatbuffers::Offset<fb::DataSegment>> ProgramBuilder::describe_segments() {
  std::vector<flatbuffers::Offset<fb::DataSegment>> described;
  size_t offset = 0;
  for (const auto& segment : segments) {
    described.push_back(fb::CreateDataSegment(builder_, offset, segment.size()));
    offset = align(offset + segment.size());
  }
  return described;
}

ProgramBytes ProgramBuilder::with_segments() {
  constexpr uint32_t kHeaderLength = 32;
  const uint8_t* flatbuffer = builder_.GetBufferPointer();
  std::vector<uint8_t> file(flatbuffer, flatbuffer + builder_.GetSize());
  file.insert(file.begin() + ExtendedHeader::kHeaderOffset, kHeaderLength, 0);
  uint32_t root = 0;
  std::memcpy(&root, file.data(), sizeof(root));
  root += kHeaderLength;
  std::memcpy(file.data(), &root, sizeof(root));
  const uint64_t program_size = file.size();
  const uint64_t base = align(file.size());
  file.resize(base);
  for (const auto& segment : segments) {
    file.resize(align(file.size()));
    file.insert(file.end(), segment.begin(), segment.end());
  }
  const uint64_t segment_bytes = file.size() - base;
  uint8_t* header = file.data() + ExtendedHeader::kHeaderOffset;
  std::memcpy(header, ExtendedHeader::kMagic, sizeof(ExtendedHeader::kMagic));
  std::memcpy(header + 4, &kHeaderLength, 4);
  std::memcpy(header + 8, &program_size, 8);
  std::memcpy(header + 16, &base, 8);
  std::memcpy(header + 24, &segment_bytes, 8);
  return ProgramBytes(file.data(), file.size());
}

void ProgramBuilder::instruction(fb::InstructionArguments type, flatbuffers::Offset<void> args) {
  instructions_.push_back(fb::CreateInstruction(builder_, type, args));
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
