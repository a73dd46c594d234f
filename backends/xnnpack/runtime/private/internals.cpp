// SPDX-License-Identifier: BSD-3-Clause
#include "private/internals.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {

uint32_t no_fusion_flag() {
  return XNN_FLAG_NO_OPERATOR_FUSION;
}

void delete_operators(xnn_operator_data* data) {
  for (xnn_operator_t& op : data->operator_objects) {
    xnn_delete_operator(std::exchange(op, nullptr));  // accepts null
  }
}

size_t packed_linear_size(const xnn_operator_data* data) {
  const xnn_operator_t op = data->operator_objects[0];
  if (op == nullptr || op->weights_stride == 0) {
    return 0;
  }
  const auto round_up = [](size_t size, size_t unit) { return (size + unit - 1) / unit * unit; };
  const size_t channels = round_up(op->group_output_channels, op->ukernel.gemm.nr);
  return round_up(channels * op->weights_stride, XNN_ALLOCATION_ALIGNMENT);
}

bool has_all_operators(xnn_subgraph_t subgraph, xnn_runtime_t runtime) {
  return std::all_of(subgraph->nodes, subgraph->nodes + runtime->num_ops, [&](const xnn_node& node) {
    // Nodes that were fused into another have no function. Those of our steps check what they create.
    return node.create == nullptr || node.type == xnn_node_type_static_expand_dims ||
           runtime->opdata[node.id].operator_objects[0] != nullptr;
  });
}

size_t constants_size(xnn_runtime_t runtime) {
  size_t size = 0;
  for (uint32_t i = 0; i < runtime->num_values; ++i) {
    const xnn_value& value = runtime->values[i];
    size += value.allocation_type == xnn_allocation_type_static ? value.size : 0;
  }
  return size;
}

CreateOperator replace_create(xnn_subgraph_t subgraph, uint32_t node, CreateOperator create) {
  return std::exchange(subgraph->nodes[node].create, create);
}

void set_data(xnn_subgraph_t subgraph, uint32_t value, const void* data) {
  subgraph->values[value].data = const_cast<void*>(data);
}

bool are_floats(xnn_subgraph_t subgraph, std::initializer_list<uint32_t> values) {
  return std::all_of(values.begin(), values.end(), [&](uint32_t value) {
    return value == XNN_INVALID_VALUE_ID || subgraph->values[value].datatype == xnn_datatype_fp32;
  });
}

std::optional<ConvolutionScales> convolution_scales(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter,
                                                    uint32_t bias, uint32_t out) {
  const xnn_value& from = subgraph->values[in];
  const xnn_value& by = subgraph->values[filter];
  const xnn_value& to = subgraph->values[out];
  const bool has_bias = bias != XNN_INVALID_VALUE_ID;
  if (from.datatype != xnn_datatype_qint8 || by.datatype != xnn_datatype_qcint8 || to.datatype != xnn_datatype_qint8 ||
      by.quantization.channel_dimension != 0 || (has_bias && subgraph->values[bias].datatype != xnn_datatype_qcint32)) {
    return std::nullopt;
  }
  return ConvolutionScales{from.quantization.zero_point, to.quantization.zero_point, from.quantization.scale,
                           to.quantization.scale, by.quantization.channelwise_scale};
}

LayerPacking layer_packing(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter, uint32_t out) {
  LayerPacking packing;
  Shape& numbers = packing.numbers;
  const auto set_scales = [&](const auto* scales, size_t count, size_t layout) {
    numbers.push_back(layout);
    packing.scales = {reinterpret_cast<const char*>(scales), count * sizeof(*scales)};
  };
  for (const uint32_t id : {in, out, filter}) {
    if (id >= subgraph->num_values) {
      return {};
    }
    const xnn_value& value = subgraph->values[id];
    const auto& how = value.quantization;
    numbers.push_back(value.datatype);
    switch (value.datatype) {
      case xnn_datatype_fp32:
      case xnn_datatype_fp16:
      case xnn_datatype_qdint8:
        break;
      case xnn_datatype_qint8:
      case xnn_datatype_quint8: {
        size_t scale = 0;
        std::memcpy(&scale, &how.scale, sizeof(how.scale));
        numbers.insert(numbers.end(), {static_cast<size_t>(how.zero_point), scale});
        break;
      }
      case xnn_datatype_qcint8:
      case xnn_datatype_qcint4:
        numbers.push_back(static_cast<size_t>(how.zero_point));
        set_scales(how.channelwise_scale, value.shape.dim[how.channel_dimension], how.channel_dimension);
        break;
      case xnn_datatype_qbint4:
        numbers.push_back(static_cast<size_t>(how.zero_point));
        set_scales(how.blockwise_scale, value.shape.dim[0] * (value.shape.dim[1] / how.block_size), how.block_size);
        break;
      default:
        return {};
    }
    if (id != filter && !packing.scales.empty()) {
      return {};
    }
  }
  return packing;
}

void set_shape(xnn_subgraph_t subgraph, uint32_t value, const Shape& shape) {
  xnn_value& changed = subgraph->values[value];
  std::copy(shape.begin(), shape.end(), changed.shape.dim);
  changed.size = xnn_tensor_get_size(&changed);
  if (changed.datatype == xnn_datatype_qdint8) {
    changed.quantization.dynamic_params_size = xnn_tensor_get_dynamic_quant_param_size(&changed);
  }
}

void move_to_workspace(xnn_runtime_t runtime, xnn_workspace_t workspace) {
  xnn_runtime_t* link = &runtime->workspace->first_user;
  while (*link != runtime) {
    link = &(*link)->next_workspace_user;
  }
  *link = runtime->next_workspace_user;
  ++workspace->ref_count;
  xnn_release_workspace(std::exchange(runtime->workspace, workspace));
  runtime->next_workspace_user = std::exchange(workspace->first_user, runtime);
  // The runtime has no pointers into the new workspace yet, which another runtime may make grow before the reshape.
  runtime->memory_planned = false;
}

void plan_memory_anew(xnn_runtime_t runtime) {
  runtime->memory_planned = false;
  for (uint32_t i = 0; i < runtime->num_values; ++i) {
    xnn_value& value = runtime->values[i];
    if (value.datatype == xnn_datatype_qdint8) {
      value.size = 0;  // so that memory for its scales is planned for the new shape, too
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
