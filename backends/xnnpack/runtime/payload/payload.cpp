// SPDX-License-Identifier: BSD-3-Clause
#include "payload/payload.h"

#include <xnnpack.h>

#include <cinttypes>
#include <cstring>
#include <string_view>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>
#include <serialization/xnnpack_graph_tables.h>

#include "payload/page_ends.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

/// The header, all numbers little-endian. Offsets count from the start of the payload.
constexpr size_t kHeaderSize = 30;
constexpr size_t kMagicAt = 4;
constexpr char kMagic[] = {'X', 'H', '0', '0'};
constexpr size_t kHeaderLengthAt = 8;
constexpr size_t kGraphOffsetAt = 10;
constexpr size_t kGraphSizeAt = 14;
constexpr size_t kConstantsOffsetAt = 18;
constexpr size_t kConstantsSizeAt = 22;

/// The alignment of the graph's 64-bit integers, and that of constants, which kernels read with vector instructions.
constexpr size_t kGraphAlignment = 8;
constexpr size_t kConstantAlignment = 16;
static_assert(alignof(std::max_align_t) >= kGraphAlignment, "copies must be aligned");

constexpr size_t kFewBytes = size_t{16} << 10;

template <size_t kBytes>
uint64_t read_number(const uint8_t* at) {
  uint64_t value = 0;
  for (size_t i = 0; i < kBytes; ++i) {
    value |= static_cast<uint64_t>(at[i]) << (8 * i);
  }
  return value;
}

bool is_aligned(const void* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

/// A copy with padding for kernels, which may read past the end.
std::unique_ptr<std::max_align_t[]> copy_of(const uint8_t* data, size_t size) {
  std::unique_ptr<std::max_align_t[]> copy(
      new std::max_align_t[(size + XNN_EXTRA_BYTES) / sizeof(std::max_align_t) + 1]);
  if (size > 0) {
    std::memcpy(copy.get(), data, size);
  }
  return copy;
}

bool has_identifier(const uint8_t* graph, const char* identifier) {
  return std::memcmp(graph + 4, identifier, 4) == 0;
}

}  // namespace

Error Payload::open(const void* data, size_t size, const runtime::NamedDataMap* named_data) {
  named_data_ = named_data;
  const auto* bytes = static_cast<const uint8_t*>(data);
  const uint8_t* graph = bytes;
  uint64_t graph_size = size;
  if (size >= kHeaderSize && std::memcmp(bytes + kMagicAt, kMagic, sizeof(kMagic)) == 0) {
    const uint64_t header_length = read_number<2>(bytes + kHeaderLengthAt);
    ET_CHECK_OR_RETURN_ERROR(header_length >= kHeaderSize, InvalidProgram,
                             "XNNPACK payload: its header has %" PRIu64 " bytes, expected at least %zu", header_length,
                             kHeaderSize);
    const uint64_t graph_offset = read_number<4>(bytes + kGraphOffsetAt);
    graph_size = read_number<4>(bytes + kGraphSizeAt);
    const uint64_t constants_offset = read_number<4>(bytes + kConstantsOffsetAt);
    constants_size_ = read_number<8>(bytes + kConstantsSizeAt);
    ET_CHECK_OR_RETURN_ERROR((CheckedSize(graph_offset) + CheckedSize(graph_size)).at_most(size) &&
                                 (CheckedSize(constants_offset) + CheckedSize(constants_size_)).at_most(size),
                             InvalidProgram,
                             "XNNPACK payload: its header announces a graph in bytes [%" PRIu64 ", +%" PRIu64
                             ") and constants in [%" PRIu64 ", +%" PRIu64 "), the payload has %zu; it may be truncated",
                             graph_offset, graph_size, constants_offset, constants_size_, size);
    graph = bytes + graph_offset;
    constants_ = bytes + constants_offset;
  }
  has_steps_ = graph_size >= 8 && has_identifier(graph, "XNS1");
  ET_CHECK_OR_RETURN_ERROR(
      graph_size >= 8 && (has_steps_ || has_identifier(graph, "XN00") || has_identifier(graph, "XN01")), InvalidProgram,
      "XNNPACK payload: expected a graph of version XN00, XN01 or XNS1, found %s%.4s",
      graph_size >= 8 ? "" : "too few bytes", graph_size >= 8 ? reinterpret_cast<const char*>(graph + 4) : "");
  if (!is_aligned(graph, kGraphAlignment)) {
    aligned_graph_ = copy_of(graph, graph_size);
    graph = reinterpret_cast<const uint8_t*>(aligned_graph_.get());
  }
  ET_CHECK_OR_RETURN_ERROR(
      runtime::internal::verify_tables(fb_xnnpack::kXnnpackGraphSchema, graph, graph_size, nullptr), InvalidProgram,
      "XNNPACK payload: its graph is no valid flatbuffer; it may be damaged");
  graph_ = fb_xnnpack::GetXNNGraph(graph);
  return Error::Ok;
}

Payload::Entry& Payload::entry(uint32_t index) {
  if (index >= entries_.size()) {
    entries_.resize(index + size_t{1});
  }
  return entries_[index];
}

Result<Span<const uint8_t>> Payload::constant(uint32_t index, uint64_t least, bool by_kernels) {
  const auto* entries = graph_->constant_data();
  const auto* buffers = graph_->constant_buffer();
  const bool is_old = entries == nullptr || entries->size() == 0;
  const uint32_t count = is_old ? (buffers == nullptr ? 0 : buffers->size()) : entries->size();
  ET_CHECK_OR_RETURN_ERROR(index < count, InvalidProgram,
                           "XNNPACK payload: a value is constant %" PRIu32 ", there are %" PRIu32, index, count);
  Entry& found = entry(index);
  if (found.bytes.data() == nullptr) {
    const Result<Span<const uint8_t>> bytes = find_constant(index, found);
    if (!bytes.ok()) {
      return bytes.error();
    }
    found.bytes = bytes.get();
  }
  if (found.copy == nullptr && (!is_aligned(found.bytes.data(), kConstantAlignment) ||
                                (by_kernels && may_leave_page(found.bytes.data(), found.bytes.size())))) {
    found.copy = copy_of(found.bytes.data(), found.bytes.size());
    found.bytes = Span<const uint8_t>(reinterpret_cast<const uint8_t*>(found.copy.get()), found.bytes.size());
  }
  ET_CHECK_OR_RETURN_ERROR(least > 0 && least <= found.bytes.size(), InvalidProgram,
                           "XNNPACK payload: constant %" PRIu32 " has %zu bytes, its value needs %" PRIu64, index,
                           found.bytes.size(), least);
  return found.bytes;
}

Result<std::unique_ptr<uint8_t[]>> Payload::copy(uint32_t index, uint64_t size) {
  const auto room = [size] {
    return std::unique_ptr<uint8_t[]>(new uint8_t[static_cast<size_t>(size) + XNN_EXTRA_BYTES]());
  };
  // Reading so few bytes takes less time than mapping and unmapping a page. Larger sizes are compared with those of the
  // entry before memory is allocated, because the payload may ask for any size.
  if (size > 0 && size <= kFewBytes && !name(index).empty()) {
    std::unique_ptr<uint8_t[]> bytes = room();
    if (read_start(index, bytes.get(), static_cast<size_t>(size)) == Error::Ok) {
      return bytes;
    }
  }
  const Result<Span<const uint8_t>> found = constant(index, size);
  if (!found.ok()) {
    return found.error();
  }
  std::unique_ptr<uint8_t[]> bytes = room();
  std::memcpy(bytes.get(), found->data(), static_cast<size_t>(size));
  release(index);
  return bytes;
}

std::string_view Payload::name(uint32_t index) const {
  const auto* entries = graph_->constant_data();
  const auto* name = entries != nullptr && index < entries->size() ? entries->Get(index)->named_key() : nullptr;
  return name == nullptr ? std::string_view() : std::string_view(name->c_str(), name->size());
}

Error Payload::read_start(uint32_t index, void* to, size_t size) const {
  return named_data_ == nullptr ? Error::NotFound : named_data_->load_data_into(name(index), to, size);
}

void Payload::release(uint32_t index) {
  if (index < entries_.size() && !entries_[index].is_held) {
    entries_[index] = {};
  }
}

Result<Span<const uint8_t>> Payload::find_constant(uint32_t index, Entry& found) const {
  const auto* entries = graph_->constant_data();
  if (entries == nullptr || entries->size() == 0) {
    const auto* storage = graph_->constant_buffer()->Get(index)->storage();
    return storage == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(storage->data(), storage->size());
  }
  const auto* entry = entries->Get(index);
  const auto* name = entry->named_key();
  if (name == nullptr || name->size() == 0) {
    ET_CHECK_OR_RETURN_ERROR((CheckedSize(entry->offset()) + CheckedSize(entry->size())).at_most(constants_size_),
                             InvalidProgram,
                             "XNNPACK payload: constant %" PRIu32 " is bytes [%" PRIu64 ", +%" PRIu64
                             ") of constant data of %" PRIu64 " bytes",
                             index, entry->offset(), entry->size(), constants_size_);
    return Span<const uint8_t>(constants_ + entry->offset(), static_cast<size_t>(entry->size()));
  }
  ET_CHECK_OR_RETURN_ERROR(named_data_ != nullptr, NotFound,
                           "XNNPACK: the weights '%s' are in another file: load the program together with its .ptd",
                           name->c_str());
  Result<FreeableBuffer> data = named_data_->get_data(std::string_view(name->c_str(), name->size()));
  ET_CHECK_OR_RETURN_ERROR(data.ok(), NotFound,
                           "XNNPACK: the weights '%s' are neither in the program nor in the external data that was "
                           "given (error 0x%x): load the program together with its .ptd",
                           name->c_str(), static_cast<unsigned>(data.error()));
  found.buffer = std::make_unique<FreeableBuffer>(std::move(data.get()));
  const FreeableBuffer& buffer = *found.buffer;
  ET_CHECK_OR_RETURN_ERROR(buffer.data() != nullptr || buffer.size() == 0, InvalidExternalData,
                           "XNNPACK: the weights '%s' have no address", name->c_str());
  return Span<const uint8_t>(static_cast<const uint8_t*>(buffer.data()), buffer.size());
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
