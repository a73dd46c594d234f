// SPDX-License-Identifier: BSD-3-Clause
// Nodes of payloads that XNNPACK would take as they are and compute beyond the memory of their results.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include <executorch/runtime/platform/runtime.h>
#include <serialization/xnnpack_graph_generated.h>

#include "graph.h"
#include "payload.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using fb_xnnpack::XNNDatatype;
using fb_xnnpack::XNodeUnion;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using runtime::Error;

constexpr uint32_t kIn = 0, kOut = 1;
const std::vector<uint32_t> kImage = {1, 4, 4, 8};

/// Writes the content of a node that reads kIn and computes kOut.
using Write = Offset<void> (*)(FlatBufferBuilder&);

struct Case {
  XNodeUnion type;
  Write write;
  std::vector<uint32_t> result;
};

void PrintTo(const Case& tested, std::ostream* out) {
  *out << fb_xnnpack::EnumNameXNodeUnion(tested.type);
}

Offset<void> write_plain(FlatBufferBuilder& b) {
  return fb_xnnpack::Create_XNNNode1x1(b, kIn, kOut, 0).Union();
}

Offset<void> write_pool(FlatBufferBuilder& b) {
  return fb_xnnpack::Create_XNNPooling2D(b, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, kIn, kOut, 0).Union();
}

Offset<void> write_resize(FlatBufferBuilder& b) {
  return fb_xnnpack::CreateXNNStaticResizeBilinear2D(b, 8, 8, kIn, kOut, 0).Union();
}

/// The mean over both dimensions of the image, which stay.
Offset<void> write_reduction(FlatBufferBuilder& b) {
  const auto inputs = b.CreateVector(std::vector<uint32_t>{kIn});
  const auto integers = b.CreateVector(std::vector<uint32_t>{1, 1, 1, 2});
  return fb_xnnpack::CreateXNNStep(b, fb_xnnpack::StepKind::Reduce, inputs, kOut, 0, integers).Union();
}

Offset<fb_xnnpack::XValue> write_value(FlatBufferBuilder& b, XNNDatatype datatype, const std::vector<uint32_t>& dims,
                                       uint32_t id) {
  const auto sizes = b.CreateVector(dims);
  const bool is_output = id == kOut;
  const auto tensor =
      fb_xnnpack::CreateXNNTensorValue(b, datatype, static_cast<uint32_t>(dims.size()), sizes, 0, id,
                                       is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT, id);
  return fb_xnnpack::CreateXValue(b, fb_xnnpack::XValueUnion::XNNTensorValue, tensor.Union());
}

/// What reading a payload says that has nothing but this node.
Error read(const Case& tested, XNNDatatype result) {
  FlatBufferBuilder b;
  const std::vector<Offset<fb_xnnpack::XNode>> nodes = {fb_xnnpack::CreateXNode(b, tested.type, tested.write(b), 0)};
  const std::vector<Offset<fb_xnnpack::XValue>> values = {write_value(b, XNNDatatype::xnn_datatype_fp32, kImage, kIn),
                                                          write_value(b, result, tested.result, kOut)};
  const auto version = b.CreateString("0");
  const auto node_list = b.CreateVector(nodes);
  const auto value_list = b.CreateVector(values);
  const auto inputs = b.CreateVector(std::vector<uint32_t>{kIn});
  const auto outputs = b.CreateVector(std::vector<uint32_t>{kOut});
  b.Finish(fb_xnnpack::CreateXNNGraph(b, version, node_list, value_list, 2, inputs, outputs), "XNS1");
  Payload payload;
  const Error opened = payload.open(b.GetBufferPointer(), b.GetSize(), nullptr);
  return opened == Error::Ok ? GraphBuilder(payload).build() : opened;
}

class NodeReaderTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  }
};

class NodesOfOneType : public NodeReaderTest {};

TEST_P(NodesOfOneType, HaveResultsOfTheTypeThatTheyRead) {
  EXPECT_EQ(read(GetParam(), XNNDatatype::xnn_datatype_fp32), Error::Ok);
  EXPECT_EQ(read(GetParam(), XNNDatatype::xnn_datatype_fp16), Error::InvalidProgram);
}

INSTANTIATE_TEST_SUITE_P(All, NodesOfOneType,
                         testing::Values(Case{XNodeUnion::XNNSoftmax, write_plain, kImage},
                                         Case{XNodeUnion::XNNSigmoid, write_plain, kImage},
                                         Case{XNodeUnion::XNNClamp, write_plain, kImage},
                                         Case{XNodeUnion::XNNAvgPooling2d, write_pool, {1, 2, 2, 8}},
                                         Case{XNodeUnion::XNNMaxPooling2d, write_pool, {1, 2, 2, 8}},
                                         Case{XNodeUnion::XNNGlobalAvgPooling2d, write_plain, {1, 1, 1, 8}},
                                         Case{XNodeUnion::XNNStaticResizeBilinear2D, write_resize, {1, 8, 8, 8}},
                                         Case{XNodeUnion::XNNStep, write_reduction, {1, 1, 1, 8}}));

class ConvertingNodes : public NodeReaderTest {};

TEST_P(ConvertingNodes, HaveResultsOfAnotherType) {
  EXPECT_EQ(read(GetParam(), XNNDatatype::xnn_datatype_fp16), Error::Ok);
}

INSTANTIATE_TEST_SUITE_P(All, ConvertingNodes, testing::Values(Case{XNodeUnion::XNNConvert, write_plain, kImage}));

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
