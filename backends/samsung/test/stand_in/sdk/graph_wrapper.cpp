// SPDX-License-Identifier: BSD-3-Clause
// Replaces the SDK's library graph_wrapper: a graph is serialised as text, one tensor or call a line.
#include <graph_wrapper_api.h>

#include <sstream>
#include <string>

struct StandInGraph {
  std::ostringstream lines;
  std::string text;
  TENSOR_ID_T tensors = 0;
  NODE_ID_T calls = 0;
};

namespace {

template <typename T>
void print(std::ostream& to, const void* data, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    to << ' ' << static_cast<const T*>(data)[i];
  }
}

void print(std::ostream& to, const ParamWrapper& value) {
  switch (value.type) {
    case ScalarType::BOOL:
      to << " bool" << (*static_cast<bool*>(value.data) ? " true" : " false");
      break;
    case ScalarType::CHAR:
      to << " text " << std::string(static_cast<char*>(value.data), value.size);
      break;
    case ScalarType::INT32:
      print<int32_t>(to << " int32", value.data, value.size);
      break;
    case ScalarType::UINT32:
      print<uint32_t>(to << " uint32", value.data, value.size);
      break;
    case ScalarType::INT64:
      print<int64_t>(to << " int64", value.data, value.size);
      break;
    case ScalarType::FLOAT32:
      print<float>(to << " float32", value.data, value.size);
      break;
    case ScalarType::FLOAT64:
      print<double>(to << " float64", value.data, value.size);
      break;
    default:
      to << " unknown";
  }
  to << (value.is_scalar ? " scalar" : "");
}

}  // namespace

GraphHandler create_graph(const char*) {
  return new StandInGraph;
}
void release_graph(GraphHandler graph) {
  delete graph;
}
GraphWrapperReturn define_tensor(GraphHandler graph, TENSOR_ID_T* id, const char*, const DIM_T* shape, uint32_t rank,
                                 const char* dtype, const char* layout) {
  *id = graph->tensors++;
  print<DIM_T>(graph->lines << "tensor " << *id << ' ' << dtype << ' ' << layout, shape, rank);
  graph->lines << '\n';
  return rank > 0 ? GraphWrapperReturn::SUCCESS : GraphWrapperReturn::FAILED;
}
GraphWrapperReturn set_data_for_constant_tensor(GraphHandler graph, TENSOR_ID_T id, const void* data, uint32_t size) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < size; ++i) {
    sum += static_cast<const uint8_t*>(data)[i];
  }
  graph->lines << "data " << id << ' ' << size << ' ' << sum << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn set_quantize_param_for_tensor(GraphHandler graph, TENSOR_ID_T id, const char* dtype,
                                                 ParamWrapper scales, ParamWrapper zero_points) {
  graph->lines << "quantized " << id << ' ' << dtype;
  print(graph->lines, scales);
  print(graph->lines, zero_points);
  graph->lines << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn define_op_node(GraphHandler graph, NODE_ID_T* id, const char*, const char* type,
                                  const TENSOR_ID_T* inputs, uint32_t input_count, const TENSOR_ID_T* outputs,
                                  uint32_t output_count) {
  *id = graph->calls++;
  print<TENSOR_ID_T>(graph->lines << "call " << type, inputs, input_count);
  print<TENSOR_ID_T>(graph->lines << " ->", outputs, output_count);
  graph->lines << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn add_op_parameter(GraphHandler graph, NODE_ID_T id, const char* key, ParamWrapper value) {
  print(graph->lines << "parameter " << id << ' ' << key, value);
  graph->lines << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn set_graph_input_tensors(GraphHandler graph, const TENSOR_ID_T* ids, uint32_t count) {
  print<TENSOR_ID_T>(graph->lines << "inputs", ids, count);
  graph->lines << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn set_graph_output_tensors(GraphHandler graph, const TENSOR_ID_T* ids, uint32_t count) {
  print<TENSOR_ID_T>(graph->lines << "outputs", ids, count);
  graph->lines << '\n';
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn finish_build_graph(GraphHandler) {
  return GraphWrapperReturn::SUCCESS;
}
GraphWrapperReturn serialize(GraphHandler graph, uint8_t** data, uint64_t* size) {
  graph->text = graph->lines.str();
  *data = reinterpret_cast<uint8_t*>(graph->text.data());
  *size = graph->text.size();
  return GraphWrapperReturn::SUCCESS;
}
