// SPDX-License-Identifier: BSD-3-Clause
// Finds the constants that XNNPACK packs.
#include <optional>
#include <utility>

#include "graph/graph.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNodeUnion;
using runtime::Error;

namespace {

/// The value ids of a node with a filter, and the parameters on which the packed layout depends.
struct Weights {
  uint32_t input;
  uint32_t filter;
  uint32_t bias;
  uint32_t output;
  Shape how;
};

std::optional<Weights> weights_of(const fb_xnnpack::XNode& node) {
  const XNodeUnion type = node.xnode_union_type();
  const auto number = static_cast<size_t>(type);
  if (const auto* linear = node.xnode_union_as_XNNFullyConnected()) {
    return Weights{
        linear->input1_id(), linear->filter_id(), linear->bias_id(), linear->output_id(), {number, linear->flags()}};
  }
  if (node.xnode_union() == nullptr || (type != XNodeUnion::XNNConv2d && type != XNodeUnion::XNNDepthwiseConv2d &&
                                        type != XNodeUnion::XNNConvTranspose2d)) {
    return std::nullopt;
  }
  const auto& conv = *static_cast<const fb_xnnpack::_XNNNodeConv*>(node.xnode_union());
  return Weights{conv.input1_id(),
                 conv.filter_id(),
                 conv.bias_id(),
                 conv.output_id(),
                 {number, conv.flags(), conv.groups(), conv.group_input_channels(), conv.group_output_channels(),
                  conv.subsampling_height(), conv.subsampling_width(), conv.kernel_height(), conv.kernel_width()}};
}

}  // namespace

Error GraphBuilder::find_packed_constants() {
  for (const auto* node : *payload_.graph().xnodes()) {
    if (const auto weights = weights_of(*node)) {
      packed_.insert(weights->filter);
      packed_.insert(weights->bias);
    } else if (const auto* step = node->xnode_union_as_XNNStep()) {
      const auto* inputs = step->input_ids();
      if (step->kind() == fb_xnnpack::StepKind::Embedding && inputs != nullptr && inputs->size() > 0) {
        packed_.insert(inputs->Get(0));
      }
    }
  }
  return Error::Ok;
}

std::optional<PackedConstant> GraphBuilder::packed_constant(uint32_t id, const LayerPacking& how,
                                                            bool is_shareable) const {
  const auto found = values_.find(id);
  if (found == values_.end() || found->second.data == nullptr) {
    return std::nullopt;
  }
  const Value& value = found->second;
  Shape shape = value.dims;
  shape.insert(shape.end(), how.numbers.begin(), how.numbers.end());
  return PackedConstant{value.id, value.constant, value.size, std::move(shape), how.scales, is_shareable};
}

void GraphBuilder::add_packed_node(const fb_xnnpack::XNode& node) {
  auto weights = weights_of(node);
  if (!weights) {
    return;
  }
  const auto id_of = [this](uint32_t id) {
    const auto found = values_.find(id);
    return found == values_.end() ? XNN_INVALID_VALUE_ID : found->second.id;
  };
  LayerPacking how =
      layer_packing(subgraph_.get(), id_of(weights->input), id_of(weights->filter), id_of(weights->output));
  const bool is_shareable = !how.numbers.empty();
  how.numbers.insert(how.numbers.begin(), weights->how.begin(), weights->how.end());
  auto filter = packed_constant(weights->filter, how, is_shareable);
  if (filter) {
    const auto number = static_cast<uint32_t>(node_count(subgraph_.get()) - 1);
    packed_nodes_.push_back({number, std::move(*filter), packed_constant(weights->bias, {{0}, {}}, is_shareable)});
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
