// SPDX-License-Identifier: BSD-3-Clause
// A graph of a payload, to be changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <serialization/vulkan_graph_generated.h>

namespace executorch {
namespace fuzz {
namespace editable {

using fb_vulkan::GraphTypes;
using fb_vulkan::VkDataType;

struct Value {
  GraphTypes type = GraphTypes::Null;
  int64_t integer = 0;  ///< also the constant of a tensor
  double real = 0;
  std::vector<int64_t> integers;  ///< also the sizes of a tensor
  std::vector<double> reals;
  std::string text;
  VkDataType dtype = VkDataType::FLOAT32, staged = VkDataType::UNSET;
  int32_t memory = -1;
};
struct Call {
  uint32_t node;
  std::string name;
  std::vector<int32_t> args;
};
struct Constant {
  uint64_t offset, length;
  std::string name;
};
struct Graph {
  std::vector<Call> calls;
  std::vector<Value> values;
  std::vector<uint32_t> inputs, outputs;
  std::vector<Constant> constants;
};

/// Converts a valid flatbuffer.
Graph read(const fb_vulkan::VkGraph& from);

/// The payload with another graph; its decisions and constants stay.
std::vector<uint8_t> write(const Graph& graph, const uint8_t* decisions, const uint8_t* constants, size_t size);

}  // namespace editable
}  // namespace fuzz
}  // namespace executorch
