// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Operations on XNNPACK's graphs and runtimes that its public interface lacks.
 */
#pragma once

#include <xnnpack.h>

#include <initializer_list>
#include <optional>
#include <string_view>

#include "graph/shapes.h"
#include "steps/convolution.h"

struct xnn_code_cache;
struct xnn_node;
struct xnn_operator_data;
struct xnn_value;

namespace executorch {
namespace backends {
namespace xnnpack {

/// Deletes the operators of a node.
void delete_operators(xnn_operator_data* data);

/// Bytes of the packed weights that the operator of a linear layer reads; 0 for other operators.
size_t packed_linear_size(const xnn_operator_data* data);

/// The flag for xnn_create_runtime_v4() that disables fusion of nodes.
uint32_t no_fusion_flag();

/// Whether every node that computes something has an operator. Where memory for the padding of a convolution runs out,
/// XNNPACK deletes the operator and reports success.
bool has_all_operators(xnn_subgraph_t subgraph, xnn_runtime_t runtime);

/// Bytes of the constants, before they are packed.
size_t constants_size(xnn_runtime_t runtime);

/// The function that creates the operator of a node when a runtime is created.
using CreateOperator = xnn_status (*)(const xnn_node* node, const xnn_value* values, size_t num_values,
                                      xnn_operator_data* data, xnn_code_cache* code, xnn_weights_cache_t weights);

/// Sets the function that creates the operator of a node, and returns the previous one.
CreateOperator replace_create(xnn_subgraph_t subgraph, uint32_t node, CreateOperator create);

/// Sets the elements of a constant. No runtime must have been created from the subgraph yet.
void set_data(xnn_subgraph_t subgraph, uint32_t value, const void* data);

/// Whether all values are float32. XNN_INVALID_VALUE_ID means a missing input and is ignored.
bool are_floats(xnn_subgraph_t subgraph, std::initializer_list<uint32_t> values);

/// The scales of an int8 convolution; nullopt unless input and output are qint8, the filter is qcint8 with a scale for
/// each index of its first dimension, and the bias is qcint32. `bias` may be XNN_INVALID_VALUE_ID.
std::optional<ConvolutionScales> convolution_scales(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter,
                                                    uint32_t bias, uint32_t out);

/// The parameters, besides its shape, on which the packed layout of a filter depends.
struct LayerPacking {
  /// Types, zero points and scales of the layer's input, filter and output. Empty if one has a type that no layer
  /// supports.
  Shape numbers;
  /// The bytes of the filter's scales if it has several, owned by the code that defined the value.
  std::string_view scales;
};
LayerPacking layer_packing(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter, uint32_t out);

/// Sets the shape of a value, which must have the same rank. No runtime must have been created from the subgraph yet.
void set_shape(xnn_subgraph_t subgraph, uint32_t value, const Shape& shape);

/// Moves the runtime to another workspace. Call plan_memory_anew() and xnn_reshape_runtime() afterwards. No other
/// thread may add or remove runtimes of the two workspaces meanwhile.
void move_to_workspace(xnn_runtime_t runtime, xnn_workspace_t workspace);

/// Makes the next xnn_reshape_runtime() plan memory for the new shapes. XNNPACK itself plans again only if a value is
/// larger than ever before and than in the graph, so that after small shapes the planned memory can be too
/// small.
void plan_memory_anew(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
