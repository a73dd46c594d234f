// SPDX-License-Identifier: BSD-3-Clause
#include "graph/cascades.h"

#include "private/callbacks.h"
#include "private/xnnpack_kernels.h"
#include "private/xnnpack_runtime.h"

#include <algorithm>

#include "private/internals.h"
#include "steps/cascade_step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

/// Bytes of an intermediate result up to which a cascade gains nothing, because the result stays in a core's L2 cache.
constexpr size_t kNearSize = size_t{512} << 10;

/// The readers and the writer of each value.
class Links {
 public:
  explicit Links(xnn_subgraph_t subgraph) : subgraph_(*subgraph), links_(subgraph->num_values) {
    for (uint32_t i = 0; i < subgraph_.num_nodes; ++i) {
      const xnn_node& node = subgraph_.nodes[i];
      for (uint32_t j = 0; j < node.num_inputs; ++j) {
        ++links_[node.inputs[j]].readers;
        links_[node.inputs[j]].reader = i;
      }
      for (uint32_t j = 0; j < node.num_outputs; ++j) {
        links_[node.outputs[j]].writer = i;
      }
    }
  }

  /// The only reader of a value, if it reads the value as its first input; null without such a reader, or if the value
  /// is an argument of the delegate.
  xnn_node* reader(uint32_t value) const {
    const uint32_t number = links_[value].reader;
    const bool is_inner = links_[value].readers == 1 && !xnn_value_is_external(&subgraph_.values[value]);
    return is_inner && subgraph_.nodes[number].inputs[0] == value ? &subgraph_.nodes[number] : nullptr;
  }

  /// The node that computes a value; null for inputs and constants.
  xnn_node* writer(uint32_t value) const {
    const uint32_t number = links_[value].writer;
    return number == XNN_INVALID_NODE_ID ? nullptr : &subgraph_.nodes[number];
  }

 private:
  struct Link {
    uint32_t readers = 0, reader = XNN_INVALID_NODE_ID, writer = XNN_INVALID_NODE_ID;
  };
  const xnn_subgraph& subgraph_;
  std::vector<Link> links_;
};

bool is_plain(xnn_subgraph_t subgraph, const xnn_node& node, xnn_node_type type) {
  return node.type == type && node.flags == 0 &&
         are_floats(subgraph, {node.inputs[0], node.inputs[1], node.outputs[0]});
}

/// Whether XNNPACK computes a node as one GEMM.
bool is_pointwise(xnn_subgraph_t subgraph, const xnn_node& node) {
  const auto& of = node.params.convolution_2d;
  return is_plain(subgraph, node, xnn_node_type_convolution_2d) && of.kernel_height == 1 && of.kernel_width == 1 &&
         of.subsampling_height == 1 && of.subsampling_width == 1 && of.groups == 1 && of.group_input_channels > 1 &&
         (of.input_padding_top | of.input_padding_right | of.input_padding_bottom | of.input_padding_left) == 0;
}

/// Whether XNNPACK computes a node with a unipass depthwise kernel, which reads the whole window at once.
bool is_depthwise(xnn_subgraph_t subgraph, const xnn_node& node) {
  const auto& of = node.params.depthwise_convolution_2d;
  const xnn_dwconv_config* const kernels = xnn_init_f32_dwconv_config();
  return is_plain(subgraph, node, xnn_node_type_depthwise_convolution_2d) && of.depth_multiplier == 1 &&
         of.kernel_height * of.kernel_width > 1 && kernels != nullptr &&
         std::any_of(kernels, kernels + XNN_MAX_F32_DWCONV_UKERNELS, [&](const xnn_dwconv_config& kernel) {
           return kernel.last_tile == 0 && kernel.primary_tile == of.kernel_height * of.kernel_width;
         });
}

xnn_status create_stage(CascadeStep::Stage stage, const xnn_node* node, const xnn_value* values, size_t num_values,
                        xnn_code_cache* code, xnn_weights_cache_t weights) {
  return without_exceptions(xnn_status_out_of_memory, [&] {
    return static_cast<CascadeStep&>(step_of(*node)).create(stage, values, num_values, code, weights);
  });
}

/// Creates the operator of an inner node for the cascade. In the runtime, the node has no operator.
template <CascadeStep::Stage Stage>
xnn_status create_inner(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data*,
                        xnn_code_cache* code, xnn_weights_cache_t weights) {
  const_cast<xnn_value&>(values[node->outputs[0]]).size = 0;  // so that no memory is planned for the value
  return create_stage(Stage, node, values, num_values, code, weights);
}

/// Creates the operator of the last node for the cascade, and the operator that runs the cascade.
xnn_status create_last(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data* data,
                       xnn_code_cache* code, xnn_weights_cache_t weights) {
  const xnn_status status = create_stage(CascadeStep::kProject, node, values, num_values, code, weights);
  return status == xnn_status_success ? create_step(node, values, num_values, data, code, weights) : status;
}

}  // namespace

std::vector<NodeStep> form_cascades(xnn_subgraph_t subgraph) {
  std::vector<NodeStep> made;
  const Links links(subgraph);
  for (uint32_t i = 0; i < subgraph->num_nodes; ++i) {
    xnn_node& depthwise = subgraph->nodes[i];
    if (!is_depthwise(subgraph, depthwise)) {
      continue;
    }
    const uint32_t wide = depthwise.inputs[0], narrow = depthwise.outputs[0];
    xnn_node* const project = links.reader(narrow);
    if (project == nullptr || !is_pointwise(subgraph, *project)) {
      continue;
    }
    xnn_node* expand = links.reader(wide) == nullptr ? nullptr : links.writer(wide);
    expand = expand != nullptr && is_pointwise(subgraph, *expand) ? expand : nullptr;
    const size_t between = expand == nullptr ? 0 : subgraph->values[wide].size;
    if (std::max(between, subgraph->values[narrow].size) <= kNearSize) {
      continue;
    }
    auto step = std::make_unique<CascadeStep>(expand == nullptr ? std::nullopt : std::optional<xnn_node>(*expand),
                                              depthwise, *project);
    // The last node reads its old inputs, too: XNNPACK removes values that no node reads.
    std::vector<uint32_t> inputs = {expand == nullptr ? wide : expand->inputs[0]};
    inputs.insert(inputs.end(), project->inputs, project->inputs + project->num_inputs);
    const auto become = [&](xnn_node& node, const uint32_t* from, size_t count, CreateOperator create) {
      become_step(node, *step, from, count, node.outputs[0]);
      node.create = create;
    };
    become(*project, inputs.data(), inputs.size(), create_last);
    become(depthwise, depthwise.inputs, depthwise.num_inputs, create_inner<CascadeStep::kDepthwise>);
    if (expand != nullptr) {
      become(*expand, expand->inputs, expand->num_inputs, create_inner<CascadeStep::kExpand>);
    }
    made.push_back({project->id, std::move(step)});
  }
  return made;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
