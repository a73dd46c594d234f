// SPDX-License-Identifier: BSD-3-Clause
#include "payload.h"
#include "paths.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <executorch/runtime/platform/runtime.h>
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

using namespace executorch::backends::mps;
using executorch::runtime::Error;
using executorch::tests::kFoundFolder;
using ::flatbuffers::FlatBufferBuilder;
using ::flatbuffers::Offset;
using ::flatbuffers::Table;

namespace {

constexpr uint16_t slot(int field) {
  return static_cast<uint16_t>(4 + 2 * field);
}

/// y = x + c, for x and c of the shape {2, 3}, where c is a constant of 24 bytes.
struct Addition {
  int32_t left = 0, right = 1, result = 2, output = 2;
  int16_t dtype = 2;  // float32
  int32_t rank = 2;
  std::vector<int32_t> sizes{2, 3};
  uint64_t constant_size = 24, constant_offset = 0;
  uint8_t node_type = static_cast<uint8_t>(NodeType::Add);
  size_t constants = 24;  ///< bytes behind the graph
  std::string identifier = "MP00";
  std::vector<uint8_t> inline_bytes;

  std::vector<uint8_t> payload() const {
    FlatBufferBuilder b;
    std::vector<Offset<Table>> values, nodes;
    for (int i = 0; i < 3; ++i) {
      const auto dims = b.CreateVector(sizes);
      Offset<Table> buffer;
      if (i == 1 && !inline_bytes.empty()) {
        const auto storage = b.CreateVector(inline_bytes);
        const auto start = b.StartTable();
        b.AddOffset(slot(0), storage);
        buffer = Offset<Table>(b.EndTable(start));
      }
      const auto start = b.StartTable();
      b.AddElement<int16_t>(slot(0), dtype, 0);
      b.AddElement<int32_t>(slot(1), rank, 0);
      b.AddOffset(slot(2), dims);
      if (i == 1) {
        b.AddElement<uint64_t>(slot(3), constant_size, 0);
        b.AddElement<uint64_t>(slot(5), constant_offset, 0);
        b.AddOffset(slot(4), buffer);
      }
      values.emplace_back(b.EndTable(start));
    }
    auto start = b.StartTable();
    b.AddElement<int32_t>(slot(0), left, -2);
    b.AddElement<int32_t>(slot(1), right, -2);
    b.AddElement<int32_t>(slot(2), result, -2);
    b.AddElement<float>(slot(3), 1, 0);
    const Offset<Table> fields(b.EndTable(start));
    start = b.StartTable();
    b.AddElement<uint8_t>(slot(0), node_type, 0);
    b.AddOffset(slot(1), fields);
    nodes.emplace_back(b.EndTable(start));
    const auto all_nodes = b.CreateVector(nodes), all_values = b.CreateVector(values);
    const auto inputs = b.CreateVector<int32_t>({0}), outputs = b.CreateVector<int32_t>({output});
    const auto constant_ids = b.CreateVector<int32_t>({1});
    start = b.StartTable();
    b.AddOffset(slot(1), all_nodes);
    b.AddOffset(slot(2), all_values);
    b.AddOffset(slot(3), inputs);
    b.AddOffset(slot(4), outputs);
    b.AddOffset(slot(5), constant_ids);
    b.Finish(Offset<Table>(b.EndTable(start)), identifier.c_str());
    std::vector<uint8_t> made(24);
    std::memcpy(made.data() + 4, "MP00", 4);
    made.insert(made.end(), b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
    made.resize((made.size() + 15) / 16 * 16);
    const uint64_t header[] = {made.size(), constants};
    std::memcpy(made.data() + 8, header, sizeof(header));
    made.resize(made.size() + constants, 7);
    return made;
  }
};

Error error_of(const std::vector<uint8_t>& payload) {
  executorch::runtime::runtime_init();
  return read_payload(payload.data(), payload.size()).error();
}

Error changed(const std::function<void(Addition&)>& change) {
  Addition addition;
  change(addition);
  return error_of(addition.payload());
}

TEST(PayloadTest, ReadsAGraph) {
  const std::vector<uint8_t> payload = Addition().payload();
  const auto graph = read_payload(payload.data(), payload.size());
  ASSERT_EQ(graph.error(), Error::Ok);
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].type, NodeType::Add);
  EXPECT_EQ(graph->nodes[0].operands, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(graph->nodes[0].results, std::vector<int32_t>{2});
  EXPECT_EQ(graph->nodes[0].floats, std::vector<float>{1});
  EXPECT_EQ(graph->values[2].sizes, (Sizes{2, 3}));
  EXPECT_EQ(graph->values[1].data, payload.data() + payload.size() - 24);
  EXPECT_EQ(graph->values[1].data_size, 24u);
  EXPECT_EQ(graph->values[0].data, nullptr);
}

TEST(PayloadTest, ConstantsMayBeInsideOfTheGraph) {
  Addition addition;
  addition.inline_bytes = std::vector<uint8_t>(32, 9);
  addition.constant_offset = 8;
  addition.constants = 0;
  const std::vector<uint8_t> payload = addition.payload();
  const auto graph = read_payload(payload.data(), payload.size());
  ASSERT_EQ(graph.error(), Error::Ok);
  EXPECT_EQ(graph->values[1].data[0], 9);
  EXPECT_EQ(graph->values[1].data[23], 9);
  EXPECT_EQ(changed([](Addition& a) {
              a.inline_bytes = std::vector<uint8_t>(31, 9);
              a.constant_offset = 8;
            }),
            Error::InvalidProgram);
}

TEST(PayloadTest, AValueOfRank0HasOneElement) {
  Addition addition;
  addition.sizes = {};
  addition.rank = 0;
  const std::vector<uint8_t> payload = addition.payload();
  const auto graph = read_payload(payload.data(), payload.size());
  ASSERT_EQ(graph.error(), Error::Ok);
  EXPECT_EQ(graph->values[2].sizes, Sizes{1});
}

TEST(PayloadTest, RefusesWhatIsDamaged) {
  EXPECT_EQ(changed([](Addition& a) { a.left = 3; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.left = -1; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.left = 2; }), Error::InvalidProgram);  // not computed yet
  EXPECT_EQ(changed([](Addition& a) { a.result = 3; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.output = 4; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.rank = 3; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.sizes = {2, -3}; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.sizes = {1 << 20, 1 << 20}; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.sizes = {2, 4}; }), Error::InvalidProgram);  // 32 bytes
  EXPECT_EQ(changed([](Addition& a) { a.constant_size = 25; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.constant_offset = 1; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.constant_offset = ~uint64_t{0}; }), Error::InvalidProgram);
  EXPECT_EQ(changed([](Addition& a) { a.identifier = "MP01"; }), Error::InvalidProgram);
}

TEST(PayloadTest, RefusesWhatMPSDoesNotHave) {
  EXPECT_EQ(changed([](Addition& a) { a.dtype = 3; }), Error::NotSupported);  // float64
  EXPECT_EQ(changed([](Addition& a) { a.dtype = -7; }), Error::NotSupported);
  EXPECT_EQ(changed([](Addition& a) { a.node_type = 0; }), Error::NotSupported);
  EXPECT_EQ(changed([](Addition& a) { a.node_type = 200; }), Error::NotSupported);
  EXPECT_EQ(changed([](Addition& a) { a.sizes = {2, 0}; }), Error::NotSupported);
}

TEST(PayloadTest, EveryPrefixIsAnError) {
  const std::vector<uint8_t> payload = Addition().payload();
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_EQ(error_of({payload.begin(), payload.begin() + static_cast<ptrdiff_t>(size)}), Error::InvalidProgram)
        << size;
  }
}

TEST(PayloadTest, EveryFlippedBitIsReadOrRefused) {
  std::vector<uint8_t> payload = Addition().payload();
  for (size_t bit = 0; bit < 8 * payload.size(); ++bit) {
    payload[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const auto graph = read_payload(payload.data(), payload.size());
    if (graph.ok()) {
      for (const int32_t id : graph->constants) {
        const Value& value = graph->values[id];
        EXPECT_GE(value.data, payload.data());
        EXPECT_LE(value.data + value.data_size, payload.data() + payload.size());
      }
    }
    payload[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
}

TEST(PayloadTest, RefusesWhatFuzzingFound) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFoundFolder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    EXPECT_EQ(error_of({std::istreambuf_iterator<char>(file), {}}), Error::InvalidProgram) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 1u);
}

}  // namespace
