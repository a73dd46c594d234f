// SPDX-License-Identifier: BSD-3-Clause
#include "payload/payload.h"

#include <xnnpack.h>

#include <cinttypes>
#include <cstring>
#include <string_view>

#include <executorch/extension/delegate/payload.h>
#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>
#include <serialization/xnnpack_graph_tables.h>

#include "payload/page_ends.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace delegate = extension::delegate;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

/// Alignment of constants, which kernels read with vector instructions.
constexpr size_t kConstantAlignment = 16;

constexpr size_t kFewBytes = size_t{16} << 10;

/// A copy with padding for kernels, which may read past the end.
delegate::AlignedBytes copy_of(Span<const uint8_t> bytes) {
  return delegate::aligned_copy(bytes, XNN_EXTRA_BYTES);
}

}  // namespace

Error Payload::open(const void* data, size_t size, const runtime::NamedDataMap* named_data) {
  named_data_ = named_data;
  const Span<const uint8_t> payload(static_cast<const uint8_t*>(data), size);
  Span<const uint8_t> bytes = payload;  // without a header there are no constants
  if (delegate::has_payload_header(payload, "XH00")) {
    const Result<delegate::PayloadParts> parts = delegate::split_payload("XNNPACK", payload);
    ET_CHECK_OK_OR_RETURN_ERROR(parts.error());
    bytes = parts->graph;
    constants_ = parts->constants.data();
    constants_size_ = parts->constants.size();
  }
  has_steps_ = delegate::has_identifier(bytes, "XNS1");
  ET_CHECK_OR_RETURN_ERROR(
      has_steps_ || delegate::has_identifier(bytes, "XN00") || delegate::has_identifier(bytes, "XN01"), InvalidProgram,
      "XNNPACK payload: expected a graph of version XN00, XN01 or XNS1, found \"%.4s\"",
      delegate::identifier_of(bytes));
  const uint8_t* const graph = delegate::aligned_graph(bytes, aligned_graph_);
  const size_t graph_size = bytes.size();
  ET_CHECK_OR_RETURN_ERROR(
      runtime::internal::verify_tables(fb_xnnpack::kXnnpackGraphSchema, graph, graph_size, nullptr), InvalidProgram,
      "XNNPACK payload: its graph is not a valid flatbuffer; it may be damaged");
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
  if (found.copy == nullptr && (!delegate::is_aligned(found.bytes.data(), kConstantAlignment) ||
                                (by_kernels && may_leave_page(found.bytes.data(), found.bytes.size())))) {
    found.copy = copy_of(found.bytes);
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
  ET_CHECK_OR_RETURN_ERROR(data.error() != Error::MemoryAllocationFailed, MemoryAllocationFailed,
                           "XNNPACK: there is no memory for the weights '%s'", name->c_str());
  if (!data.ok() && data.error() != Error::NotFound) {
    ET_LOG(Error, "XNNPACK: the weights '%s' cannot be read (error 0x%x)", name->c_str(),
           static_cast<unsigned>(data.error()));
    return data.error();
  }
  ET_CHECK_OR_RETURN_ERROR(data.ok(), NotFound,
                           "XNNPACK: the weights '%s' are neither in the program nor in the external data that was "
                           "given: load the program together with its .ptd",
                           name->c_str());
  found.buffer = std::make_unique<FreeableBuffer>(std::move(data.get()));
  const FreeableBuffer& buffer = *found.buffer;
  ET_CHECK_OR_RETURN_ERROR(buffer.data() != nullptr || buffer.size() == 0, InvalidExternalData,
                           "XNNPACK: the weights '%s' have no address", name->c_str());
  return Span<const uint8_t>(static_cast<const uint8_t*>(buffer.data()), buffer.size());
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
