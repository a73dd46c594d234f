// SPDX-License-Identifier: BSD-3-Clause
// Constants that XNNPACK copies into a form of its own.
#include <cinttypes>

#include <executorch/runtime/platform/log.h>

#include "graph.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNodeUnion;
using runtime::Error;

void GraphBuilder::add_packed(uint32_t filter, uint32_t bias, const Shape& how) {
  packed_.insert(filter);
  packed_.insert(bias);
  const auto [entry, is_new] = packing_.emplace(filter, how);
  if (!is_new && entry->second != how) {
    entry->second.clear();  // packed in two ways
  }
  packing_.emplace(bias, Shape{0});
}

Error GraphBuilder::find_packed_constants() {
  for (const auto* node : *payload_.graph().xnodes()) {
    const XNodeUnion type = node->xnode_union_type();
    const auto number = static_cast<size_t>(type);
    if (const auto* linear = node->xnode_union_as_XNNFullyConnected()) {
      add_packed(linear->filter_id(), linear->bias_id(), {number, linear->flags()});
    } else if (type == XNodeUnion::XNNConv2d || type == XNodeUnion::XNNDepthwiseConv2d ||
               type == XNodeUnion::XNNConvTranspose2d) {
      const auto* conv = static_cast<const fb_xnnpack::_XNNNodeConv*>(node->xnode_union());
      ET_CHECK_OR_RETURN_ERROR(conv != nullptr, InvalidProgram, "XNNPACK payload: a node has a type and no content");
      add_packed(conv->filter_id(), conv->bias_id(),
                 {number, conv->flags(), conv->groups(), conv->group_input_channels(), conv->group_output_channels(),
                  conv->subsampling_height(), conv->subsampling_width(), conv->kernel_height(), conv->kernel_width()});
    } else if (const auto* step = node->xnode_union_as_XNNStep()) {
      const auto* inputs = step->input_ids();
      if (step->kind() == fb_xnnpack::StepKind::Embedding && inputs != nullptr && inputs->size() > 0) {
        packed_.insert(inputs->Get(0));
      }
    }
  }
  return Error::Ok;
}

void GraphBuilder::share_weights(DelegateWeights& weights) const {
  for (const auto& [id, how] : packing_) {
    const auto found = values_.find(id);
    if (found == values_.end() || how.empty()) {
      continue;
    }
    const Value& value = found->second;
    // How quantised weights are packed also depends on what they are multiplied with.
    if (value.data != nullptr && value.is_in_payload && value.datatype == xnn_datatype_fp32) {
      Shape numbers = value.dims;
      numbers.insert(numbers.end(), how.begin(), how.end());
      weights.share(value.data, element_count(value.dims) * sizeof(float), numbers);
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
