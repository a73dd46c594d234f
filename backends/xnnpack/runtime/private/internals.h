// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What can be done with a runtime of XNNPACK that its own interface does not offer.
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

/// A flag for creating a runtime: nodes are not fused.
uint32_t no_fusion_flag();

/// Bytes of the constants, before they are packed.
size_t constants_size(xnn_runtime_t runtime);

/// Makes the operator of a node, when a runtime is made.
using CreateOperator = xnn_status (*)(const xnn_node* node, const xnn_value* values, size_t num_values,
                                      xnn_operator_data* data, xnn_code_cache* code, xnn_weights_cache_t weights);

/// Lets another function make the operator of a node, and returns the one that did.
CreateOperator replace_create(xnn_subgraph_t subgraph, uint32_t node, CreateOperator create);

/// Gives a constant of the subgraph, which no runtime was made from yet, its elements.
void set_data(xnn_subgraph_t subgraph, uint32_t value, const void* data);

/// Whether all values are of float32; XNN_INVALID_VALUE_ID, for those that a node has not, is.
bool are_floats(xnn_subgraph_t subgraph, std::initializer_list<uint32_t> values);

/// The scales of a quantised convolution; nullopt unless all its values are int8, and the filter has a
/// scale for each index of its first dimension. `bias` may be XNN_INVALID_VALUE_ID.
std::optional<ConvolutionScales> convolution_scales(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter,
                                                    uint32_t bias, uint32_t out);

/// What says, beside its shape, how the filter of a layer is packed.
struct LayerPacking {
  /// The types, zero points and scales of what it meets, its own and those of the results. Nothing where one has a type
  /// that no layer has.
  Shape numbers;
  /// The bytes of its own scales, where it has several. Whoever has defined the subgraph's values owns them.
  std::string_view scales;
};
LayerPacking layer_packing(xnn_subgraph_t subgraph, uint32_t in, uint32_t filter, uint32_t out);

/// Gives a value of the subgraph, which no runtime was made from yet, another shape of the same rank.
void set_shape(xnn_subgraph_t subgraph, uint32_t value, const Shape& shape);

/// Takes the runtime out of its workspace and puts it into another one; xnn_reshape_runtime() must follow, after
/// plan_memory_anew(). No other thread may change the users of the two meanwhile.
void move_to_workspace(xnn_runtime_t runtime, xnn_workspace_t workspace);

/// Makes the next xnn_reshape_runtime() plan memory for the new shapes. XNNPACK itself plans again only if a value is
/// larger than ever before and than in the graph, so that after small shapes the planned memory can be too
/// small.
void plan_memory_anew(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
