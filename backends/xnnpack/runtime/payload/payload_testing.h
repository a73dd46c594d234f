// SPDX-License-Identifier: BSD-3-Clause
// Writes payloads for tests, one node at a time.
#pragma once

#include <xnnpack.h>

#include <cstdint>
#include <vector>

#include <serialization/xnnpack_graph_generated.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNNDatatype;
using fb_xnnpack::XNodeUnion;

/// Writes a payload in which every value is an argument of the delegate. Ids are numbered from 0 in the order of calls.
class PayloadWriter final {
 public:
  using Dims = std::vector<uint32_t>;
  using Content = flatbuffers::Offset<void>;

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  uint32_t input(XNNDatatype datatype, const Dims& dims) {
    return value(fb_xnnpack::XValueUnion::XNNTensorValue, tensor(datatype, dims, inputs_).Union());
  }

  uint32_t output(XNNDatatype datatype, const Dims& dims) {
    return value(fb_xnnpack::XValueUnion::XNNTensorValue, tensor(datatype, dims, outputs_).Union());
  }

  /// A per-tensor quantised input with the scale 0.5.
  uint32_t input_with_scale(XNNDatatype datatype, const Dims& dims) {
    const auto dense = tensor(datatype, dims, inputs_);
    const auto scale = fb_xnnpack::CreatePerTensorQuant(builder_, 0.5f, 0);
    return value(fb_xnnpack::XValueUnion::XNNQuantizedTensorValue,
                 fb_xnnpack::CreateXNNQuantizedTensorValue(builder_, dense, fb_xnnpack::XNNQuantParams::PerTensorQuant,
                                                           scale.Union())
                     .Union());
  }

  /// An input that is quantised per channel along its first dimension, with scales of 0.5.
  uint32_t input_with_scales(XNNDatatype datatype, const Dims& dims) {
    const auto dense = tensor(datatype, dims, inputs_);
    const auto scales = builder_.CreateVector(std::vector<float>(dims[0], 0.5f));
    const auto quantized =
        fb_xnnpack::CreateXNNQuantizedTensorValue(builder_, dense, fb_xnnpack::XNNQuantParams::PerChannelQuant,
                                                  fb_xnnpack::CreatePerChannelQuant(builder_, scales, 0).Union());
    return value(fb_xnnpack::XValueUnion::XNNQuantizedTensorValue, quantized.Union());
  }

  void node(XNodeUnion type, Content content) {
    nodes_.push_back(fb_xnnpack::CreateXNode(builder_, type, content, static_cast<uint32_t>(nodes_.size())));
  }

  /// Adds a node with one input, one output and no parameters.
  void plain_node(XNodeUnion type, uint32_t in, uint32_t out) {
    node(type, fb_xnnpack::Create_XNNNode1x1(builder_, in, out, 0).Union());
  }

  /// The payload, which is valid as long as the writer lives.
  flatbuffers::span<uint8_t> finish() {
    const auto version = builder_.CreateString("0");
    const auto nodes = builder_.CreateVector(nodes_);
    const auto values = builder_.CreateVector(values_);
    const auto inputs = builder_.CreateVector(inputs_);
    const auto outputs = builder_.CreateVector(outputs_);
    const auto count = static_cast<uint32_t>(values_.size());
    builder_.Finish(fb_xnnpack::CreateXNNGraph(builder_, version, nodes, values, count, inputs, outputs), "XNS1");
    return builder_.GetBufferSpan();
  }

 private:
  uint32_t next_id() const { return static_cast<uint32_t>(values_.size()); }

  flatbuffers::Offset<fb_xnnpack::XNNTensorValue> tensor(XNNDatatype datatype, const Dims& dims,
                                                         std::vector<uint32_t>& side) {
    side.push_back(next_id());
    const uint32_t flags = &side == &outputs_ ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT;
    const auto sizes = builder_.CreateVector(dims);
    return fb_xnnpack::CreateXNNTensorValue(builder_, datatype, static_cast<uint32_t>(dims.size()), sizes, 0, next_id(),
                                            flags, next_id());
  }

  uint32_t value(fb_xnnpack::XValueUnion type, Content content) {
    values_.push_back(fb_xnnpack::CreateXValue(builder_, type, content));
    return next_id() - 1;
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<fb_xnnpack::XNode>> nodes_;
  std::vector<flatbuffers::Offset<fb_xnnpack::XValue>> values_;
  std::vector<uint32_t> inputs_, outputs_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
