// SPDX-License-Identifier: BSD-3-Clause
#include "payload/payload.h"

#include <cinttypes>
#include <cstring>

#include <executorch/extension/delegate/payload.h>
#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>
#include <serialization/vulkan_graph_tables.h>

namespace executorch {
namespace backends {
namespace vulkan {

namespace delegate = extension::delegate;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

/// A shape with more dimensions is refused.
constexpr uint32_t kMaxDims = 8;

}  // namespace

Error Payload::open(const void* data, size_t size, const runtime::NamedDataMap* named_data) {
  named_data_ = named_data;
  const Span<const uint8_t> payload(static_cast<const uint8_t*>(data), size);
  ET_CHECK_OR_RETURN_ERROR(delegate::has_payload_header(payload, "VH00"), InvalidProgram,
                           "Vulkan payload: expected a header of %zu bytes with VH00, found another; export again",
                           delegate::kPayloadHeaderSize);
  const Result<delegate::PayloadParts> parts = delegate::split_payload("Vulkan", payload);
  ET_CHECK_OK_OR_RETURN_ERROR(parts.error());
  constants_ = parts->constants.data();
  constants_size_ = parts->constants.size();
  ET_CHECK_OR_RETURN_ERROR(delegate::has_identifier(parts->graph, "VK00"), InvalidProgram,
                           "Vulkan payload: expected a graph of version VK00, found \"%.4s\"",
                           delegate::identifier_of(parts->graph));
  const uint8_t* const graph = delegate::aligned_graph(parts->graph, aligned_graph_);
  const size_t graph_size = parts->graph.size();
  ET_CHECK_OR_RETURN_ERROR(runtime::internal::verify_tables(fb_vulkan::kVulkanGraphSchema, graph, graph_size, nullptr),
                           InvalidProgram, "Vulkan payload: its graph is not a valid flatbuffer; it may be damaged");
  graph_ = fb_vulkan::GetVkGraph(graph);
  return check_graph();
}

Error Payload::check_graph() const {
  const auto* values = graph_->values();
  const auto* chain = graph_->chain();
  ET_CHECK_OR_RETURN_ERROR(values != nullptr && chain != nullptr, InvalidProgram,
                           "Vulkan payload: the graph has no values or no operators");
  const uint32_t count = values->size();
  const auto* constants = graph_->constants();
  const uint32_t constant_count = constants == nullptr ? 0 : constants->size();
  for (uint32_t i = 0; i < count; ++i) {
    const auto* value = values->Get(i);
    ET_CHECK_OR_RETURN_ERROR(value->value_type() == fb_vulkan::GraphTypes::NONE || value->value() != nullptr,
                             InvalidProgram, "Vulkan payload: value %" PRIu32 " is empty", i);
    if (const auto* tensor = value->value_as_VkTensor()) {
      const uint32_t rank = tensor->dims() == nullptr ? 0 : tensor->dims()->size();
      ET_CHECK_OR_RETURN_ERROR(rank <= kMaxDims, InvalidProgram,
                               "Vulkan payload: tensor %" PRIu32 " has %" PRIu32
                               " dimensions, expected at most %" PRIu32,
                               i, rank, kMaxDims);
      ET_CHECK_OR_RETURN_ERROR(tensor->constant_id() < static_cast<int64_t>(constant_count), InvalidProgram,
                               "Vulkan payload: tensor %" PRIu32 " is constant %" PRId32 ", there are %" PRIu32, i,
                               tensor->constant_id(), constant_count);
      ET_CHECK_OR_RETURN_ERROR(tensor->mem_obj_id() < static_cast<int64_t>(count) * 16 + 65536, InvalidProgram,
                               "Vulkan payload: tensor %" PRIu32 " has the memory object %" PRId32, i,
                               tensor->mem_obj_id());
    } else if (const auto* list = value->value_as_ValueList()) {
      for (uint32_t j = 0; list->items() != nullptr && j < list->items()->size(); ++j) {
        const int32_t item = list->items()->Get(j);
        ET_CHECK_OR_RETURN_ERROR(item >= 0 && static_cast<uint32_t>(item) < count &&
                                     values->Get(static_cast<uint32_t>(item))->value_as_ValueList() == nullptr,
                                 InvalidProgram,
                                 "Vulkan payload: item %" PRIu32 " of the list %" PRIu32 " is value %" PRId32
                                 "; expected one of %" PRIu32 " that is not a list of values",
                                 j, i, item, count);
      }
    }
  }
  for (uint32_t i = 0; i < chain->size(); ++i) {
    const auto* call = chain->Get(i);
    ET_CHECK_OR_RETURN_ERROR(call->name() != nullptr, InvalidProgram,
                             "Vulkan payload: operator %" PRIu32 " has no name", i);
    for (uint32_t j = 0; call->args() != nullptr && j < call->args()->size(); ++j) {
      const int32_t id = call->args()->Get(j);
      ET_CHECK_OR_RETURN_ERROR(id >= 0 && static_cast<uint32_t>(id) < count, InvalidProgram,
                               "Vulkan payload: argument %" PRIu32 " of %s (operator %" PRIu32 ") is value %" PRId32
                               ", there are %" PRIu32,
                               j, call->name()->c_str(), i, id, count);
    }
  }
  for (const auto* ids : {graph_->input_ids(), graph_->output_ids()}) {
    for (uint32_t j = 0; ids != nullptr && j < ids->size(); ++j) {
      ET_CHECK_OR_RETURN_ERROR(ids->Get(j) < count, InvalidProgram,
                               "Vulkan payload: an input or output is value %" PRIu32 ", there are %" PRIu32,
                               ids->Get(j), count);
    }
  }
  return Error::Ok;
}

std::string_view Payload::name(uint32_t index) const {
  const auto* constant = graph_->constants()->Get(index);
  const auto* key = constant->named_key();
  return key == nullptr ? std::string_view() : std::string_view(key->c_str(), key->size());
}

namespace {

Error check_size(uint32_t index, uint64_t found, uint64_t least) {
  ET_CHECK_OR_RETURN_ERROR(found >= least, InvalidProgram,
                           "Vulkan payload: constant %" PRIu32 " has %" PRIu64 " bytes, its tensor needs %" PRIu64,
                           index, found, least);
  return Error::Ok;
}

}  // namespace

Result<FreeableBuffer> Payload::find_named(uint32_t index, std::string_view key, uint64_t least) const {
  const int length = static_cast<int>(key.size());
  ET_CHECK_OR_RETURN_ERROR(named_data_ != nullptr, NotFound,
                           "Vulkan payload: constant %" PRIu32 " is the named data %.*s, the program has none", index,
                           length, key.data());
  Result<FreeableBuffer> data = named_data_->get_data(key);
  if (!data.ok() && data.error() != Error::NotFound) {
    return data.error();  // it exists, but cannot be read
  }
  ET_CHECK_OR_RETURN_ERROR(data.ok(), NotFound,
                           "Vulkan payload: constant %" PRIu32
                           " is the named data %.*s, which the program does not have; load the .ptd file that belongs "
                           "to it",
                           index, length, key.data());
  ET_CHECK_OK_OR_RETURN_ERROR(check_size(index, data->size(), least));
  return data;
}

Result<Span<const uint8_t>> Payload::find(uint32_t index, uint64_t least) const {
  const auto* constant = graph_->constants()->Get(index);
  ET_CHECK_OR_RETURN_ERROR(
      (CheckedSize(constant->offset()) + CheckedSize(constant->length())).at_most(constants_size_), InvalidProgram,
      "Vulkan payload: constant %" PRIu32 " is at [%" PRIu64 ", +%" PRIu64 "), there are %" PRIu64 " bytes", index,
      constant->offset(), constant->length(), constants_size_);
  ET_CHECK_OK_OR_RETURN_ERROR(check_size(index, constant->length(), least));
  return Span<const uint8_t>(constants_ + constant->offset(), static_cast<size_t>(constant->length()));
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
