// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/emitter.h>

#include <cstddef>
#include <cstring>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/etdump_generated.h>

namespace executorch {
namespace etdump {
namespace internal {

using ::executorch::runtime::Span;

/// Gives a builder a single block of memory, which is always large enough: see EventLog::written_bound().
class OnePiece : public flatbuffers::Allocator {
 public:
  explicit OnePiece(Span<uint8_t> memory) : memory_(memory) {}
  uint8_t* allocate(size_t size) override { return size <= memory_.size() ? memory_.data() : nullptr; }
  void deallocate(uint8_t*, size_t) override {}

 private:
  Span<uint8_t> memory_;
};

}  // namespace internal
}  // namespace etdump
}  // namespace executorch

struct flatcc_builder final : private executorch::etdump::internal::OnePiece, public flatbuffers::FlatBufferBuilder {
  using Builder = flatbuffers::FlatBufferBuilder;

  explicit flatcc_builder(executorch::runtime::Span<uint8_t> memory)
      : OnePiece(memory), Builder(memory.size(), static_cast<OnePiece*>(this)) {}
};

namespace executorch {
namespace etdump {
namespace internal {

namespace format = ::etdump;

using flatbuffers::Offset;

namespace {

class Writer {
 public:
  Writer(EventLog& log, Span<uint8_t> memory) : log_(log), memory_(memory), builder_(memory) {}

  Span<uint8_t> write() {
    uint32_t block = kNone;
    uint32_t num_blocks = 0;
    for (uint32_t place = 0; place < log_.end(); place = log_.next(place)) {
      if (builder_.GetSize() + kScratchBytes > memory_.size()) {
        ET_LOG(Error, "ETDump: %zu bytes are too few for the dump; please report this", memory_.size());
        return {};
      }
      if (log_.at(place).kind == RecordKind::Block) {
        write_block(block, log_.at(place).previous);
        block = place;
        ++num_blocks;
      } else {
        write_record(place);
      }
    }
    write_block(block, log_.last());
    const auto blocks = vector_of<format::RunData>(RecordKind::Block, RecordKind::Block, 0, log_.last(), num_blocks);
    builder_.FinishSizePrefixed(format::CreateETDump(builder_, ETDUMP_VERSION, blocks), format::ETDumpIdentifier());
    return {builder_.GetBufferPointer(), builder_.GetSize()};
  }

 private:
  /// Memory that the builder needs for a record, beyond the record itself, and for the frame.
  static constexpr size_t kScratchBytes = 512;

  /// Writes the vector of the `count` records from `first` to `last` whose kinds are from `kind` to `last_kind`.
  /// Returns 0 if `count` is 0.
  template <typename T>
  Offset<flatbuffers::Vector<Offset<T>>> vector_of(RecordKind kind, RecordKind last_kind, uint32_t first, uint32_t last,
                                                   uint32_t count) {
    if (count == 0) {
      return 0;
    }
    builder_.StartVector<Offset<T>>(count);
    // Vectors are built from their ends.
    for (uint32_t place = last; place != kNone && place >= first; place = log_.at(place).previous) {
      const Record& record = log_.at(place);
      if (record.kind == RecordKind::Kernel && kind <= record.kind && record.kind <= last_kind) {
        builder_.PushElement(Offset<T>(static_cast<uint32_t>(record.number)));  // the outer event ends last
      }
      if (record.kind >= kind && record.kind <= last_kind) {
        builder_.PushElement(Offset<T>(record.written));
      }
    }
    return builder_.EndVector(count);
  }

  void write_block(uint32_t block, uint32_t last) {
    if (block == kNone) {
      return;
    }
    uint32_t num_allocators = 0;
    uint32_t num_events = 0;
    for (uint32_t place = last; place != kNone && place > block; place = log_.at(place).previous) {
      num_allocators += log_.at(place).kind == RecordKind::Allocator;
      num_events += log_.at(place).kind > RecordKind::Allocator;
      num_events += log_.at(place).kind == RecordKind::Kernel;
    }
    const auto allocators =
        vector_of<format::Allocator>(RecordKind::Allocator, RecordKind::Allocator, block, last, num_allocators);
    const auto events = vector_of<format::Event>(RecordKind::Allocation, RecordKind::Value, block, last, num_events);
    Record& record = log_.at(block);
    record.written =
        format::CreateRunData(builder_, text(record.name), record.number, allocators, events, record.first).o;
  }

  Offset<flatbuffers::String> text(uint32_t name) {
    return name == kNone ? Offset<flatbuffers::String>() : Offset<flatbuffers::String>(log_.at(name).written);
  }

  void write_record(uint32_t place) {
    Record& record = log_.at(place);
    const uint8_t* data = log_.data_of(place);
    switch (record.kind) {
      case RecordKind::Name:
        record.written = builder_.CreateString(reinterpret_cast<const char*>(data), record.data_size).o;
        break;
      case RecordKind::Allocator:
        record.written = format::CreateAllocator(builder_, text(record.name)).o;
        break;
      case RecordKind::Allocation:
        record.written =
            format::CreateEvent(builder_, 0, format::CreateAllocationEvent(builder_, record.number, record.first)).o;
        break;
      case RecordKind::Profile: {
        const auto metadata = record.data_size == 0 ? Offset<flatbuffers::Vector<uint8_t>>()
                                                    : builder_.CreateVector(data, record.data_size);
        record.written =
            format::CreateEvent(
                builder_, format::CreateProfileEvent(builder_, text(record.name), record.chain, record.instruction,
                                                     record.delegate_number, text(record.delegate_name), metadata,
                                                     record.first, record.second))
                .o;
        break;
      }
      case RecordKind::Kernel: {
        const auto event = [&](uint32_t name) {
          return format::CreateEvent(
              builder_, format::CreateProfileEvent(builder_, text(name), record.chain, record.instruction, -1, 0, 0,
                                                   record.first, record.second));
        };
        record.written = event(record.name).o;
        record.number = static_cast<int32_t>(event(record.delegate_name).o);
        break;
      }
      case RecordKind::Value: {
        const auto value = write_value(record, data);
        record.written = format::CreateEvent(builder_, 0, 0,
                                             format::CreateDebugEvent(
                                                 builder_, static_cast<uint64_t>(static_cast<int64_t>(record.chain)),
                                                 record.instruction, value, record.delegate_number,
                                                 text(record.delegate_name), text(record.name)))
                             .o;
        break;
      }
      case RecordKind::Block:
        break;
    }
  }

  Offset<format::Value> write_value(const Record& record, const uint8_t* data) {
    const auto type = static_cast<format::ValueType>(record.value_type);
    Offset<format::Tensor> tensor;
    Offset<format::TensorList> tensors;
    Offset<format::Int> integer;
    Offset<format::Double> floating;
    Offset<format::Bool> boolean;
    switch (type) {
      case format::ValueType::Tensor:
        tensor = write_tensor(data);
        break;
      case format::ValueType::TensorList:
        tensors = write_tensors(data, record);
        break;
      case format::ValueType::Int:
        integer = format::CreateInt(builder_, static_cast<int64_t>(record.first));
        break;
      case format::ValueType::Bool:
        boolean = format::CreateBool(builder_, record.first != 0);
        break;
      case format::ValueType::Double: {
        double number = 0;
        std::memcpy(&number, &record.first, sizeof(number));
        floating = format::CreateDouble(builder_, number);
        break;
      }
      default:
        break;
    }
    const auto output = record.is_output ? format::CreateBool(builder_, true) : Offset<format::Bool>();
    return format::CreateValue(builder_, type, tensor, tensors, integer, 0, floating, boolean, output);
  }

  /// The tensor at `data`.
  Offset<format::Tensor> write_tensor(const uint8_t* data) {
    LoggedTensor tensor;
    std::memcpy(&tensor, data, sizeof(tensor));
    const auto* numbers = reinterpret_cast<const int64_t*>(data + sizeof(tensor));
    const auto sizes = builder_.CreateVector(numbers, tensor.dim);
    const auto strides = builder_.CreateVector(numbers + tensor.dim, tensor.dim);
    return format::CreateTensor(builder_, static_cast<executorch_flatbuffer::ScalarType>(tensor.scalar_type), sizes,
                                strides, tensor.offset);
  }

  static size_t tensor_bytes(const uint8_t* data) {
    LoggedTensor tensor;
    std::memcpy(&tensor, data, sizeof(tensor));
    return sizeof(tensor) + size_t{2} * tensor.dim * sizeof(int64_t);
  }

  Offset<format::TensorList> write_tensors(const uint8_t* data, const Record& record) {
    auto* tensor = const_cast<uint8_t*>(data);
    for (int32_t i = 0; i < record.number; ++i) {
      const uint64_t written = write_tensor(tensor).o;
      std::memcpy(tensor + offsetof(LoggedTensor, written), &written, sizeof(written));
      tensor += tensor_bytes(tensor);
    }
    builder_.StartVector<Offset<format::Tensor>>(static_cast<size_t>(record.number));
    for (int32_t i = record.number - 1; i >= 0; --i) {  // lists are short, so each item is found from the start
      const uint8_t* item = data;
      for (int32_t j = 0; j < i; ++j) {
        item += tensor_bytes(item);
      }
      uint64_t written = 0;
      std::memcpy(&written, item + offsetof(LoggedTensor, written), sizeof(written));
      builder_.PushElement(Offset<format::Tensor>(static_cast<uint32_t>(written)));
    }
    return format::CreateTensorList(builder_, builder_.EndVector(static_cast<size_t>(record.number)));
  }

  EventLog& log_;
  Span<uint8_t> memory_;
  flatcc_builder_t builder_;
};

}  // namespace

Span<uint8_t> write_etdump(EventLog& log, Span<uint8_t> memory) {
  // The builder requires a size that is a multiple of its alignment.
  Writer writer(log, {memory.data(), memory.size() / kEtdumpAlignment * kEtdumpAlignment});
  return writer.write();
}

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
