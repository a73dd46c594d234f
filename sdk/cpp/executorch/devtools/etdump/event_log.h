// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace etdump {
namespace internal {

/// The kind of a record.
enum class RecordKind : uint8_t {
  Name,        ///< A text that others refer to. Data: the text.
  Block,       ///< The start of a block. `number`: the index of the bundled input; `first`: an InputDigest.
  Allocator,   ///< `name`.
  Allocation,  ///< `number`: the allocator; `first`: bytes.
  Profile,     ///< `first` and `second`: start and end. Data: the delegate's metadata.
  Kernel,      ///< A kernel's two events: `name` inside `delegate_name`, from `first` to `second`.
  Value,       ///< A logged value. Data: LoggedTensors; `first`: the bits of a number.
};

/// The value of an absent name or offset.
constexpr uint32_t kNone = UINT32_MAX;

/// Offsets in a flatbuffer are signed 32-bit numbers, so the dump and its log must both stay below 2 GiB.
constexpr size_t kMaxBytes = size_t{1} << 30;
/// An upper bound of the bytes that the two events of a Kernel need in a dump.
constexpr size_t kKernelBound = 320;

/// An event, in the form that is kept until the dump is written. `data_size` bytes of data follow it.
struct Record {
  RecordKind kind;
  int8_t value_type = 0;  ///< The etdump::ValueType, if this is a Value.
  bool is_output = false;
  uint32_t data_size = 0;
  uint32_t previous = kNone;  ///< Offset of the previous record.
  uint32_t written = 0;       ///< Offset in the written flatbuffer.
  uint32_t name = kNone;      ///< Offset of the Name record of its name.
  uint32_t delegate_name = kNone;
  int32_t delegate_number = -1;
  int32_t chain = -1;
  int32_t instruction = -1;
  int32_t number = 0;
  uint64_t first = 0;
  uint64_t second = 0;
};

/// A tensor in the data of a Value. Its sizes and its strides follow it, `dim` int64_t each.
struct LoggedTensor {
  int32_t scalar_type;
  uint32_t dim;
  uint64_t written;  ///< Offset in the written flatbuffer.
  int64_t offset;
};

/// Event records in the order of arrival, in memory of the application or on the heap. Recording is cheap: records are
/// converted to an ETDump after the run.
class EventLog {
 public:
  /// Keeps the log in `memory`, which must outlive it, or on the heap if the pointer of `memory` is null.
  explicit EventLog(::executorch::runtime::Span<uint8_t> memory);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  bool is_on_heap() const { return on_heap_; }

  /// Adds a record and copies its data. Returns the record's offset, or kNone if the record does not fit; the first
  /// failure is logged.
  uint32_t add(const Record& record, const void* data = nullptr, size_t data_size = 0);

  /// Returns the offset of the Name record of a text, and adds the record unless it is among the last ones. Returns
  /// kNone for null, or if the record does not fit.
  uint32_t name(const char* text);

  /// Adds a Kernel, as add() would. Returns false if it does not fit.
  bool add_kernel(uint32_t name, uint32_t outer, int32_t chain, uint32_t instruction, uint64_t start, uint64_t end) {
    if (!has_room(used_ + sizeof(Record), bound_ + kKernelBound)) {
      return false;
    }
    auto* record = new (memory_ + used_) Record{RecordKind::Kernel};
    record->previous = last_;
    record->name = name;
    record->delegate_name = outer;
    record->chain = chain;
    record->instruction = static_cast<int32_t>(instruction);
    record->first = start;
    record->second = end;
    last_ = used_;
    used_ += static_cast<uint32_t>(sizeof(Record));
    bound_ += kKernelBound;
    return true;
  }

  /// Forgets all records.
  void clear();

  Record& at(uint32_t place) { return *reinterpret_cast<Record*>(memory_ + place); }
  const uint8_t* data_of(uint32_t place) const { return memory_ + place + sizeof(Record); }
  /// The offset of the record after another one. The first record is at 0.
  uint32_t next(uint32_t place) { return place + record_bytes(at(place).data_size); }
  /// The end of the last record.
  uint32_t end() const { return used_; }
  /// The last record, or kNone.
  uint32_t last() const { return last_; }

  /// An upper bound of the bytes that all records take in an ETDump.
  size_t written_bound() const { return bound_; }
  /// The free space after the records: in memory of the application at least written_bound() bytes.
  ::executorch::runtime::Span<uint8_t> free_memory() { return {memory_ + used_, capacity_ - used_}; }

 private:
  static uint32_t record_bytes(size_t data_size) {
    return static_cast<uint32_t>(sizeof(Record) + (data_size + 7) / 8 * 8);
  }
  /// Whether the log may grow by `bytes`, and its dump to `bound` bytes. After the first refusal, which is logged, all
  /// later records are refused, too: they could belong to a record that is missing.
  bool has_room(size_t bytes, size_t bound) {
    return (bytes <= room_ && bound < (on_heap_ ? kMaxBytes : capacity_ - bytes + 1)) || make_room(bytes, bound);
  }
  bool make_room(size_t bytes, size_t bound);

  uint8_t* memory_ = nullptr;
  size_t capacity_ = 0;
  bool on_heap_;
  size_t room_ = 0;  ///< The capacity; 0 when it is full.
  bool full_ = false;
  uint32_t used_ = 0;
  uint32_t last_ = kNone;
  uint32_t last_name_ =
      kNone;  ///< Names form a separate list: the `name` of a Name record is the previous Name record.
  size_t bound_ = 0;
  /// Offsets of recently used Name records, by a hash of the text.
  static constexpr size_t kKnownNames = 32;
  uint32_t known_names_[kKnownNames];
};

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
