// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/event_log.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace etdump {
namespace internal {

namespace {

static_assert(sizeof(Record) % 8 == 0 && alignof(Record) <= 8, "records follow each other at multiples of 8 bytes");

/// Bytes for the frame of the dump and for temporary data of the writer.
constexpr size_t kFrameBytes = 1024;
/// Bytes allocated on the heap for the first records.
constexpr size_t kFirstBytes = 4096;
/// How many of the last names are compared with a new one.
constexpr int kNamesCompared = 32;

/// An upper bound of the bytes of a record in a dump: tables with all of their fields, vtables, padding, and
/// four bytes in the vector that the table is in.
size_t bound_of(const Record& record, size_t data_size) {
  switch (record.kind) {
    case RecordKind::Name:
      return 16 + data_size;
    case RecordKind::Block:
      return 128;
    case RecordKind::Allocator:
      return 48;
    case RecordKind::Allocation:
      return 96;
    case RecordKind::Profile:
      return 160 + data_size;
    case RecordKind::Kernel:
      return kKernelBound;
    case RecordKind::Value:
      // A tensor takes 24 bytes in the log and up to 66 in the dump; a size and a stride take 8 bytes each in both.
      return 224 + 3 * data_size;
  }
  return kMaxBytes;
}

/// A hash of the length and both ends of a text: names of operators differ in these.
size_t hash_of(const char* text, size_t size) {
  uint32_t first = 0, last = 0;
  if (size >= sizeof(first)) {
    std::memcpy(&first, text + (size > 12 ? 12 : 0), std::min(sizeof(first), size - (size > 12 ? 12 : 0)));
    std::memcpy(&last, text + size - sizeof(last), sizeof(last));
  }
  const uint32_t mixed = (first * 31 + last * 7 + static_cast<uint32_t>(size)) * 2654435761u;
  return mixed >> 16;
}

}  // namespace

EventLog::EventLog(::executorch::runtime::Span<uint8_t> memory) : on_heap_(memory.data() == nullptr) {
  if (!on_heap_) {
    const auto padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(memory.data()) & 15);
    const size_t skipped = std::min(padding, memory.size());
    memory_ = memory.data() + skipped;
    capacity_ = std::min(memory.size() - skipped, kMaxBytes);
  }
  clear();
}

EventLog::~EventLog() {
  if (on_heap_) {
    std::free(memory_);
  }
}

void EventLog::clear() {
  used_ = 0;
  last_ = kNone;
  last_name_ = kNone;
  bound_ = kFrameBytes;
  full_ = false;
  room_ = capacity_;
  std::fill(std::begin(known_names_), std::end(known_names_), kNone);
}

bool EventLog::make_room(size_t bytes, size_t bound) {
  if (full_) {
    return false;
  }
  if (on_heap_ && bytes < kMaxBytes && bound < kMaxBytes) {
    const size_t capacity = std::max({bytes, capacity_ * 2, kFirstBytes});
    auto* memory = static_cast<uint8_t*>(std::realloc(memory_, capacity));
    if (memory != nullptr) {
      memory_ = memory;
      capacity_ = room_ = capacity;
      return true;
    }
  }
  ET_LOG(Error, "ETDump: no room for events after the first %zu bytes%s", static_cast<size_t>(used_),
         on_heap_ ? "" : ": give ETDumpGen a larger buffer");
  full_ = true;
  room_ = 0;
  return false;
}

uint32_t EventLog::add(const Record& record, const void* data, size_t data_size) {
  const bool is_too_large = data_size > kMaxBytes;
  const size_t bytes = is_too_large ? kMaxBytes : used_ + record_bytes(data_size);
  const size_t bound = is_too_large ? kMaxBytes : bound_ + bound_of(record, data_size);
  if (!has_room(bytes, bound)) {
    return kNone;
  }
  const uint32_t place = used_;
  auto* added = new (memory_ + place) Record(record);
  added->previous = last_;
  added->data_size = static_cast<uint32_t>(data_size);
  if (data_size > 0) {
    std::memcpy(memory_ + place + sizeof(Record), data, data_size);
  }
  last_ = place;
  used_ = static_cast<uint32_t>(bytes);
  bound_ = bound;
  return place;
}

uint32_t EventLog::name(const char* text) {
  if (text == nullptr) {
    return kNone;
  }
  const size_t size = std::strlen(text);
  const auto is_text = [&](uint32_t place) {
    return at(place).data_size == size && std::memcmp(data_of(place), text, size) == 0;
  };
  uint32_t& found = known_names_[hash_of(text, size) % kKnownNames];
  if (found != kNone && is_text(found)) {
    return found;
  }
  uint32_t known = last_name_;
  for (int i = 0; i < kNamesCompared && known != kNone; ++i) {
    if (is_text(known)) {
      found = known;
      return known;
    }
    known = at(known).name;
  }
  Record record{RecordKind::Name};
  record.name = last_name_;
  const uint32_t place = add(record, text, size);
  last_name_ = place == kNone ? last_name_ : place;
  found = place;
  return place;
}

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
