// SPDX-License-Identifier: BSD-3-Clause
// Payloads that XNNPACK would accept and then read or write past the end of a value.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

#include "graph/graph.h"
#include "payload/payload.h"
#include "payload/payload_testing.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using runtime::Error;

using Dims = PayloadWriter::Dims;
constexpr uint32_t kIn = 0, kOut = 1;
const Dims kImage = {1, 4, 4, 8};

/// Writes the content of a node that reads kIn and computes kOut.
using Write = PayloadWriter::Content (*)(flatbuffers::FlatBufferBuilder&);

struct Case {
  XNodeUnion type;
  Write write;
  Dims result;
};

void PrintTo(const Case& tested, std::ostream* out) {
  *out << fb_xnnpack::EnumNameXNodeUnion(tested.type);
}

PayloadWriter::Content write_plain(flatbuffers::FlatBufferBuilder& b) {
  return fb_xnnpack::Create_XNNNode1x1(b, kIn, kOut, 0).Union();
}

PayloadWriter::Content write_pool(flatbuffers::FlatBufferBuilder& b) {
  return fb_xnnpack::Create_XNNPooling2D(b, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, kIn, kOut, 0).Union();
}

PayloadWriter::Content write_resize(flatbuffers::FlatBufferBuilder& b) {
  return fb_xnnpack::CreateXNNStaticResizeBilinear2D(b, 8, 8, kIn, kOut, 0).Union();
}

/// The mean over height and width, which stay as dimensions of size 1.
PayloadWriter::Content write_reduction(flatbuffers::FlatBufferBuilder& b) {
  const auto inputs = b.CreateVector(Dims{kIn});
  const auto integers = b.CreateVector(Dims{1, 1, 1, 2});
  return fb_xnnpack::CreateXNNStep(b, fb_xnnpack::StepKind::Reduce, inputs, kOut, 0, integers).Union();
}

class NodeReaderTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  }

  static Error read(PayloadWriter& written) {
    const auto bytes = written.finish();
    Payload payload;
    const Error opened = payload.open(bytes.data(), bytes.size(), nullptr);
    return opened == Error::Ok ? GraphBuilder(payload).build() : opened;
  }

  /// Reads a payload that contains only the node of the test case.
  static Error read_node(XNNDatatype result) {
    PayloadWriter payload;
    payload.input(XNNDatatype::xnn_datatype_fp32, kImage);
    payload.output(result, GetParam().result);
    payload.node(GetParam().type, GetParam().write(payload.builder()));
    return read(payload);
  }
};

class NodesOfOneType : public NodeReaderTest {};

TEST_P(NodesOfOneType, HaveResultsOfTheTypeThatTheyRead) {
  EXPECT_EQ(read_node(XNNDatatype::xnn_datatype_fp32), Error::Ok);
  EXPECT_EQ(read_node(XNNDatatype::xnn_datatype_fp16), Error::InvalidProgram);
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

TEST_F(NodeReaderTest, ANodeOfANewerReleaseIsNamed) {
  PayloadWriter payload;
  payload.input(XNNDatatype::xnn_datatype_fp32, kImage);
  payload.output(XNNDatatype::xnn_datatype_fp32, kImage);
  payload.plain_node(static_cast<XNodeUnion>(200), kIn, kOut);
  testing::internal::CaptureStderr();
  EXPECT_EQ(read(payload), Error::NotSupported);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "node 0 is of type 200 (unknown), which this runtime (schema of ExecuTorch 1.5) does not run"),
            std::string::npos);
}

class ResizedImages : public NodeReaderTest {
 protected:
  /// Reads a payload that resizes an image of one column to `height` rows.
  static Error read_resize(uint32_t height, uint32_t flags) {
    PayloadWriter payload;
    payload.input(XNNDatatype::xnn_datatype_fp32, {1, 4, 1, 1});
    payload.output(XNNDatatype::xnn_datatype_fp32, {1, height, 1, 1});
    payload.node(XNodeUnion::XNNStaticResizeBilinear2D,
                 fb_xnnpack::CreateXNNStaticResizeBilinear2D(payload.builder(), height, 1, kIn, kOut, flags).Union());
    return read(payload);
  }
};

TEST_F(ResizedImages, AreNotSoLargeThatAPositionIsRoundedPastTheLastRow) {
  constexpr uint32_t kRounded = 1u << 22;
  EXPECT_EQ(read_resize(kRounded, 0), Error::Ok);
  for (const uint32_t flag : {XNN_FLAG_ALIGN_CORNERS, XNN_FLAG_TENSORFLOW_LEGACY_MODE}) {
    EXPECT_EQ(read_resize(kRounded - 1, flag), Error::Ok);
    EXPECT_EQ(read_resize(kRounded, flag), Error::InvalidProgram);
  }
}

class ConvertingNodes : public NodeReaderTest {};

TEST_P(ConvertingNodes, HaveResultsOfAnotherType) {
  EXPECT_EQ(read_node(XNNDatatype::xnn_datatype_fp16), Error::Ok);
}

INSTANTIATE_TEST_SUITE_P(All, ConvertingNodes, testing::Values(Case{XNodeUnion::XNNConvert, write_plain, kImage}));

class QuantizedValues : public NodeReaderTest {
 protected:
  using Input = uint32_t (PayloadWriter::*)(XNNDatatype, const Dims&);

  /// Reads a payload that converts such an input to float32.
  static Error read_value(XNNDatatype datatype, Input input = &PayloadWriter::input_with_scale) {
    PayloadWriter payload;
    const uint32_t in = (payload.*input)(datatype, {4, 8});
    payload.plain_node(XNodeUnion::XNNConvert, in, payload.output(XNNDatatype::xnn_datatype_fp32, {4, 8}));
    return read(payload);
  }
};

TEST_F(QuantizedValues, OfFourBitsAreFilters) {
  EXPECT_EQ(read_value(XNNDatatype::xnn_datatype_qcint8, &PayloadWriter::input_with_scales), Error::Ok);
  EXPECT_EQ(read_value(XNNDatatype::xnn_datatype_qcint4, &PayloadWriter::input_with_scales), Error::InvalidProgram);
}

TEST_F(QuantizedValues, OfOneScaleHaveATypeOfOneScale) {
  EXPECT_EQ(read_value(XNNDatatype::xnn_datatype_qint8), Error::Ok);
  EXPECT_EQ(read_value(XNNDatatype::xnn_datatype_quint8), Error::Ok);
  for (const XNNDatatype datatype :
       {XNNDatatype::xnn_datatype_qcint8, XNNDatatype::xnn_datatype_qcint4, XNNDatatype::xnn_datatype_qbint4,
        XNNDatatype::xnn_datatype_qcint32, XNNDatatype::xnn_datatype_qdint8, XNNDatatype::xnn_datatype_fp32}) {
    EXPECT_EQ(read_value(datatype), Error::InvalidProgram) << fb_xnnpack::EnumNameXNNDatatype(datatype);
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
