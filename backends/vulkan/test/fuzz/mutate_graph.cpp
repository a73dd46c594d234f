// SPDX-License-Identifier: BSD-3-Clause
// Changes of graphs. Numbers that change in place seldom give another operator or a list of another length, so this
// reads the flatbuffer, changes the graph and writes a new flatbuffer.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "editable_graph.h"
#include "ops/tables.h"
#include "payload/payload.h"
#include "vulkan_driver.h"

namespace executorch {
namespace fuzz {

using backends::vulkan::Payload;
using editable::Call;
using editable::Constant;
using editable::Graph;
using editable::Value;
using fb_vulkan::GraphTypes;
using fb_vulkan::VkDataType;

namespace {

const std::vector<std::string>& operator_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& table : backends::vulkan::operator_tables()) {
      for (const auto& op : table) {
        names.emplace_back(op.name);
      }
    }
    return names;
  }();
  return all;
}

class Mutation {
 public:
  Mutation(Graph& graph, unsigned int seed) : graph_(graph), random_(seed) {}

  size_t pick(size_t count) { return count == 0 ? 0 : random_() % count; }

  void change() {
    switch (pick(14)) {
      case 0:
        if (Call* call = any(graph_.calls)) {
          call->name = operator_names()[pick(operator_names().size())];
        }
        break;
      case 1:
      case 2:
        if (Call* call = any(graph_.calls)) {
          change_ids(call->args, graph_.values.size());
        }
        break;
      case 3:
        if (!graph_.calls.empty()) {
          std::swap(any(graph_.calls)->args, any(graph_.calls)->args);
        }
        break;
      case 4:
        if (!graph_.calls.empty()) {
          const Call copy = *any(graph_.calls);
          graph_.calls.insert(graph_.calls.begin() + static_cast<ptrdiff_t>(pick(graph_.calls.size() + 1)), copy);
        }
        break;
      case 5:
        if (!graph_.calls.empty()) {
          graph_.calls.erase(graph_.calls.begin() + static_cast<ptrdiff_t>(pick(graph_.calls.size())));
        }
        break;
      case 6:
        change_ids(pick(2) == 0 ? graph_.inputs : graph_.outputs, graph_.values.size());
        break;
      case 7:
        if (Constant* constant = any(graph_.constants)) {
          change_constant(*constant);
        }
        break;
      case 8:
        if (Value* value = any(graph_.values)) {
          *value = graph_.values[pick(graph_.values.size())];
        }
        break;
      case 9:
        append_value();
        break;
      default:
        if (Value* value = any(graph_.values)) {
          change_value(*value);
        }
        break;
    }
  }

 private:
  template <typename T>
  T* any(std::vector<T>& items) {
    return items.empty() ? nullptr : &items[pick(items.size())];
  }

  int64_t number(int64_t before) {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    7,
                                    8,
                                    16,
                                    31,
                                    64,
                                    127,
                                    128,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    1 << 20,
                                    1 << 30,
                                    INT32_MAX,
                                    INT32_MIN,
                                    INT64_MAX,
                                    INT64_MIN,
                                    UINT32_MAX,
                                    int64_t{1} << 32,
                                    int64_t{1} << 62,
                                    -1,
                                    -2};
    switch (pick(4)) {
      case 0:
        return kNumbers[pick(std::size(kNumbers))];
      case 1:
        return static_cast<int64_t>(pick(6));
      case 2:
        return static_cast<int64_t>(static_cast<uint64_t>(before) + pick(7) - 3);
      default:
        return static_cast<int64_t>(static_cast<uint64_t>(before) ^ uint64_t{1} << pick(64));
    }
  }

  double real() {
    constexpr double kReals[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 1e-30,
                                 1e30,
                                 1e300,
                                 2147483648.0,
                                 -1e10,
                                 3,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    return kReals[pick(std::size(kReals))];
  }

  template <typename Id>
  void change_ids(std::vector<Id>& ids, size_t count) {
    const auto id = static_cast<Id>(pick(count));
    const size_t at = pick(ids.size());
    switch (pick(ids.empty() ? 1 : 5)) {
      case 0:
        ids.insert(ids.begin() + static_cast<ptrdiff_t>(at), id);
        break;
      case 1:
        ids.erase(ids.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 2:
        std::swap(ids[at], ids[pick(ids.size())]);
        break;
      default:
        ids[at] = id;
        break;
    }
  }

  void change_list(std::vector<int64_t>& items) {
    const size_t at = pick(items.size());
    switch (pick(items.empty() ? 1 : 6)) {
      case 0:
        if (items.size() < 80) {
          items.insert(items.begin() + static_cast<ptrdiff_t>(at), number(1));
        }
        break;
      case 1:
        items.erase(items.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 2:
        std::swap(items[at], items[pick(items.size())]);
        break;
      default:
        items[at] = number(items[at]);
        break;
    }
  }

  void change_constant(Constant& constant) {
    switch (pick(3)) {
      case 0:
        constant.name = constant.name.empty() ? "w" : "";
        break;
      case 1:
        constant.length = static_cast<uint64_t>(number(static_cast<int64_t>(constant.length)));
        break;
      default:
        constant.offset = static_cast<uint64_t>(number(static_cast<int64_t>(constant.offset)));
        break;
    }
  }

  VkDataType dtype() {
    constexpr VkDataType kTypes[] = {VkDataType::BOOL,    VkDataType::UINT8,   VkDataType::INT8,
                                     VkDataType::INT32,   VkDataType::FLOAT16, VkDataType::FLOAT32,
                                     VkDataType::FLOAT64, VkDataType::INT64,   VkDataType::UNSET};
    return kTypes[pick(std::size(kTypes))];
  }

  void change_tensor(Value& value) {
    switch (pick(7)) {
      case 0:
        value.dtype = dtype();
        break;
      case 1:
        value.staged = dtype();
        break;
      case 2:
        value.integer = static_cast<int64_t>(pick(graph_.constants.size() + 1)) - 1;
        break;
      case 3:
        value.memory = static_cast<int32_t>(pick(5)) - 1;
        break;
      case 4:
        if (!value.integers.empty()) {
          value.integers[pick(value.integers.size())] = static_cast<int64_t>(1 + pick(9));
        }
        break;
      default:
        change_list(value.integers);
        break;
    }
  }

  void change_value(Value& value) {
    switch (value.type) {
      case GraphTypes::VkTensor:
        return change_tensor(value);
      case GraphTypes::IntList:
        return change_list(value.integers);
      case GraphTypes::BoolList:
        change_list(value.integers);
        std::for_each(value.integers.begin(), value.integers.end(), [](int64_t& item) { item &= 1; });
        return;
      case GraphTypes::ValueList: {
        std::vector<uint32_t> ids(value.integers.begin(), value.integers.end());
        change_ids(ids, graph_.values.size());
        value.integers.assign(ids.begin(), ids.end());
        return;
      }
      case GraphTypes::Double:
        value.real = real();
        return;
      case GraphTypes::DoubleList:
        value.reals.resize(pick(value.reals.size() + 2));
        std::for_each(value.reals.begin(), value.reals.end(), [&](double& item) { item = real(); });
        return;
      case GraphTypes::String: {
        constexpr const char* kTexts[] = {"", "none", "tanh", "relu", "bilinear", "nearest", "mean", "constant"};
        value.text = kTexts[pick(std::size(kTexts))];
        return;
      }
      default:
        value.integer = number(value.integer);
        return;
    }
  }

  /// A value of any type, as an argument of an operator.
  void append_value() {
    Value value;
    value.type = static_cast<GraphTypes>(1 + pick(11));
    value.integer = value.type == GraphTypes::VkTensor ? -1 : number(0);
    value.real = real();
    for (size_t i = pick(5); i > 0; --i) {
      value.integers.push_back(static_cast<int64_t>(value.type == GraphTypes::ValueList  ? pick(graph_.values.size())
                                                    : value.type == GraphTypes::BoolList ? pick(2)
                                                                                         : pick(9)));
      value.reals.push_back(real());
    }
    graph_.values.push_back(value);
    Call* call = any(graph_.calls);
    if (call != nullptr && !call->args.empty()) {
      *any(call->args) = static_cast<int32_t>(graph_.values.size() - 1);
    }
  }

  Graph& graph_;
  std::minstd_rand random_;
};

}  // namespace

size_t mutate_vulkan_graph(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  silence_logs();
  Payload payload;
  if (payload.open(data, size, nullptr) != runtime::Error::Ok) {
    return 0;
  }
  Graph graph = editable::read(payload.graph());
  Mutation mutation(graph, seed);
  for (size_t i = 1 + mutation.pick(3); i > 0; --i) {
    mutation.change();
  }
  uint8_t decisions[4];
  std::memcpy(decisions, data, sizeof(decisions));
  if (mutation.pick(4) == 0) {
    decisions[mutation.pick(4)] = static_cast<uint8_t>(mutation.pick(256));
  }
  uint64_t offset = 0, length = 0;
  std::memcpy(&offset, data + 18, 4);
  std::memcpy(&length, data + 22, 8);
  const std::vector<uint8_t> bytes = editable::write(graph, decisions, data + offset, static_cast<size_t>(length));
  if (bytes.size() > max_size) {
    return 0;
  }
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace fuzz
}  // namespace executorch
