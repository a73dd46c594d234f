// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace fb = ::executorch_flatbuffer;

/// A tensor of a program under test. Fields that are not set are those of a planned float tensor.
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
  fb::DeviceType device = fb::DeviceType::CPU;
};

/// Bytes at a multiple of 16, on the heap, without readable bytes after them.
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

/// Writes small programs, including wrong ones: nothing is checked.
class ProgramBuilder {
 public:
  ProgramBuilder();
  ~ProgramBuilder();

  int32_t tensor(const TensorSpec& spec);

  int32_t null();
  int32_t integer(int64_t number);
  int32_t real(double number);
  int32_t string(const std::string& text);
  int32_t boolean(bool flag);
  int32_t int_list(const std::vector<int64_t>& items);
  int32_t tensor_list(const std::vector<int32_t>& items);
  int32_t optional_tensor_list(const std::vector<int32_t>& items);
  int32_t bool_list(const std::vector<uint8_t>& items);
  int32_t double_list(const std::vector<double>& items);
  /// Adds a union value as given, so that tests can use types that do not exist.
  int32_t value(fb::KernelTypes type, flatbuffers::Offset<void> table);

  int32_t op(const std::string& name, const std::string& overload);
  /// A delegate whose payload is entry `data_index` of `payloads`, or of `segments`.
  int32_t backend(const std::string& id, uint32_t data_index = 0, fb::DataLocation where = fb::DataLocation::INLINE,
                  const std::vector<std::pair<std::string, std::vector<uint8_t>>>& specs = {});

  void call(int32_t op_index, const std::vector<int32_t>& args);
  void call_delegate(int32_t delegate, const std::vector<int32_t>& args);
  void move(int32_t from, int32_t to);
  void jump_false(int32_t condition, int32_t destination);
  /// Adds a value of a type that only a newer exporter knows.
  void unknown_value();
  void unknown_instruction();
  void free_value(int32_t index);

  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<int64_t> planned_sizes = {0, 256};
  /// Indices into `planned_sizes`, and their devices; the other buffers are in CPU memory.
  std::vector<std::pair<int32_t, fb::DeviceType>> planned_devices;
  /// Inline constants from index 1 on; index 0 is reserved.
  std::vector<std::vector<uint8_t>> constants;
  std::vector<std::string> names = {"forward"};
  /// Six numbers for each entry, see program.fbs.
  std::optional<std::vector<int32_t>> dynamic_sizes;
  /// The memory_id of the state that methods share.
  uint32_t shared_buffer = 0;
  /// Inline data of delegates.
  std::vector<std::vector<uint8_t>> payloads;
  /// Data after the flatbuffer, each at a multiple of 16 bytes. If there is any, the file gets an extended header.
  std::vector<std::vector<uint8_t>> segments;
  /// Key and segment.
  std::vector<std::pair<std::string, uint32_t>> named_data;
  /// Where initial values start in `mutable_segment`; entry 0 is reserved.
  std::vector<uint64_t> mutable_offsets;
  uint32_t mutable_segment = 0;
  /// The version of the schema; a newer release may write a higher one.
  uint32_t version = 0;
  /// Where constants start in `constant_segment`; entry 0 is reserved. Not together with `constants`.
  std::vector<uint64_t> constant_offsets;
  uint32_t constant_segment = 0;

  /// A program whose methods are all the same.
  ProgramBytes finish();

 private:
  std::vector<flatbuffers::Offset<fb::DataSegment>> describe_segments();

  /// The flatbuffer with the extended header in it and the segments after it.
  ProgramBytes with_segments();

  void instruction(fb::InstructionArguments type, flatbuffers::Offset<void> args);

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<fb::EValue>> values_;
  std::vector<flatbuffers::Offset<fb::Operator>> operators_;
  std::vector<flatbuffers::Offset<fb::BackendDelegate>> delegates_;
  std::vector<flatbuffers::Offset<fb::Instruction>> instructions_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
