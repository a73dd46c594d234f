// SPDX-License-Identifier: BSD-3-Clause
#include "editable_graph.h"

#include <cstring>

#include "payload/list_of.h"

namespace executorch {
namespace fuzz {
namespace editable {

using backends::vulkan::list_of;

namespace {

constexpr size_t kHeaderSize = 30;

Value read(const fb_vulkan::VkValue& from) {
  Value value;
  value.type = from.value_type();
  if (const auto* number = from.value_as_Int()) {
    value.integer = number->int_val();
  } else if (const auto* flag = from.value_as_Bool()) {
    value.integer = flag->bool_val() ? 1 : 0;
  } else if (const auto* real = from.value_as_Double()) {
    value.real = real->double_val();
  } else if (const auto* symbol = from.value_as_SymInt()) {
    value.integer = symbol->value();
  } else if (const auto* integers = from.value_as_IntList()) {
    value.integers = list_of<int64_t>(integers->items());
  } else if (const auto* flags = from.value_as_BoolList()) {
    value.integers = list_of<int64_t>(flags->items());
  } else if (const auto* reals = from.value_as_DoubleList()) {
    value.reals = list_of<double>(reals->items());
  } else if (const auto* list = from.value_as_ValueList()) {
    value.integers = list_of<int64_t>(list->items());
  } else if (const auto* text = from.value_as_String()) {
    value.text = text->string_val() == nullptr ? "" : text->string_val()->str();
  } else if (const auto* tensor = from.value_as_VkTensor()) {
    value.integers = list_of<int64_t>(tensor->dims());
    value.integer = tensor->constant_id();
    value.dtype = tensor->datatype();
    value.staged = tensor->staging_datatype();
    value.memory = tensor->mem_obj_id();
  }
  return value;
}

flatbuffers::Offset<void> write(const Value& value, flatbuffers::FlatBufferBuilder& to) {
  switch (value.type) {
    case GraphTypes::Int:
      return fb_vulkan::CreateInt(to, value.integer).Union();
    case GraphTypes::Bool:
      return fb_vulkan::CreateBool(to, value.integer != 0).Union();
    case GraphTypes::Double:
      return fb_vulkan::CreateDouble(to, value.real).Union();
    case GraphTypes::SymInt:
      return fb_vulkan::CreateSymInt(to, static_cast<int32_t>(value.integer)).Union();
    case GraphTypes::String:
      return fb_vulkan::CreateStringDirect(to, value.text.c_str()).Union();
    case GraphTypes::IntList:
      return fb_vulkan::CreateIntListDirect(to, &value.integers).Union();
    case GraphTypes::DoubleList:
      return fb_vulkan::CreateDoubleListDirect(to, &value.reals).Union();
    case GraphTypes::BoolList: {
      const std::vector<uint8_t> items(value.integers.begin(), value.integers.end());
      return fb_vulkan::CreateBoolListDirect(to, &items).Union();
    }
    case GraphTypes::ValueList: {
      const std::vector<int32_t> items(value.integers.begin(), value.integers.end());
      return fb_vulkan::CreateValueListDirect(to, &items).Union();
    }
    case GraphTypes::VkTensor: {
      const std::vector<uint32_t> dims(value.integers.begin(), value.integers.end());
      return fb_vulkan::CreateVkTensorDirect(to, value.dtype, &dims, static_cast<int32_t>(value.integer), value.memory,
                                             fb_vulkan::VkStorageType::DEFAULT_STORAGE,
                                             fb_vulkan::VkMemoryLayout::DEFAULT_LAYOUT, value.staged)
          .Union();
    }
    default:
      return fb_vulkan::CreateNull(to).Union();
  }
}

}  // namespace

Graph read(const fb_vulkan::VkGraph& from) {
  Graph graph;
  for (const auto* call : *from.chain()) {
    graph.calls.push_back({call->node_id(), call->name()->str(), list_of<int32_t>(call->args())});
  }
  for (const auto* value : *from.values()) {
    graph.values.push_back(read(*value));
  }
  graph.inputs = list_of<uint32_t>(from.input_ids());
  graph.outputs = list_of<uint32_t>(from.output_ids());
  for (uint32_t i = 0; from.constants() != nullptr && i < from.constants()->size(); ++i) {
    const auto* constant = from.constants()->Get(i);
    const auto* name = constant->named_key();
    graph.constants.push_back({constant->offset(), constant->length(), name == nullptr ? "" : name->str()});
  }
  return graph;
}

std::vector<uint8_t> write(const Graph& graph, const uint8_t* decisions, const uint8_t* constants, size_t size) {
  flatbuffers::FlatBufferBuilder to;
  std::vector<flatbuffers::Offset<fb_vulkan::OperatorCall>> calls;
  for (const Call& call : graph.calls) {
    calls.push_back(fb_vulkan::CreateOperatorCallDirect(to, call.node, call.name.c_str(), &call.args));
  }
  std::vector<flatbuffers::Offset<fb_vulkan::VkValue>> values;
  for (const Value& value : graph.values) {
    const auto written = write(value, to);
    const GraphTypes type = value.type == GraphTypes::NONE ? GraphTypes::Null : value.type;
    values.push_back(fb_vulkan::CreateVkValue(to, type, written));
  }
  std::vector<flatbuffers::Offset<fb_vulkan::VkBytes>> parts;
  for (const Constant& constant : graph.constants) {
    parts.push_back(fb_vulkan::CreateVkBytesDirect(to, constant.offset, constant.length,
                                                   constant.name.empty() ? nullptr : constant.name.c_str()));
  }
  to.Finish(fb_vulkan::CreateVkGraphDirect(to, "0", &calls, &values, &graph.inputs, &graph.outputs, &parts), "VK00");
  std::vector<uint8_t> bytes(kHeaderSize + 2);
  const auto put = [&](size_t at, uint64_t number, size_t length) { std::memcpy(&bytes[at], &number, length); };
  std::memcpy(bytes.data(), decisions, 4);
  std::memcpy(&bytes[4], "VH00", 4);
  put(8, kHeaderSize, 2);
  put(10, bytes.size(), 4);
  put(14, to.GetSize(), 4);
  put(18, bytes.size() + to.GetSize(), 4);
  put(22, size, 8);
  bytes.insert(bytes.end(), to.GetBufferPointer(), to.GetBufferPointer() + to.GetSize());
  bytes.insert(bytes.end(), constants, constants + size);
  return bytes;
}

}  // namespace editable
}  // namespace fuzz
}  // namespace executorch
