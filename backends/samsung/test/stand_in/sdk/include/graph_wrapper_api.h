// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Samsung's SDK: the functions that ExecuTorch's sources (backends/samsung/aot, BSD) call.
#pragma once

#include <cstdint>

#include "common-types.h"

struct StandInGraph;
using GraphHandler = StandInGraph*;

enum class GraphWrapperReturn { SUCCESS, FAILED };

extern "C" {
GraphHandler create_graph(const char* name);
void release_graph(GraphHandler graph);
GraphWrapperReturn define_tensor(GraphHandler graph, TENSOR_ID_T* id, const char* name, const DIM_T* shape,
                                 uint32_t rank, const char* dtype, const char* layout);
GraphWrapperReturn set_data_for_constant_tensor(GraphHandler graph, TENSOR_ID_T id, const void* data, uint32_t size);
GraphWrapperReturn set_quantize_param_for_tensor(GraphHandler graph, TENSOR_ID_T id, const char* dtype,
                                                 ParamWrapper scales, ParamWrapper zero_points);
GraphWrapperReturn define_op_node(GraphHandler graph, NODE_ID_T* id, const char* name, const char* type,
                                  const TENSOR_ID_T* inputs, uint32_t input_count, const TENSOR_ID_T* outputs,
                                  uint32_t output_count);
GraphWrapperReturn add_op_parameter(GraphHandler graph, NODE_ID_T id, const char* key, ParamWrapper value);
GraphWrapperReturn set_graph_input_tensors(GraphHandler graph, const TENSOR_ID_T* ids, uint32_t count);
GraphWrapperReturn set_graph_output_tensors(GraphHandler graph, const TENSOR_ID_T* ids, uint32_t count);
GraphWrapperReturn finish_build_graph(GraphHandler graph);
GraphWrapperReturn serialize(GraphHandler graph, uint8_t** data, uint64_t* size);
}
