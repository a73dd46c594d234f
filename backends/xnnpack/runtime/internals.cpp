// SPDX-License-Identifier: BSD-3-Clause
#include "internals.h"

#include <algorithm>
#include <utility>

#include "xnnpack/subgraph.h"  // what a runtime is made of, in the pinned sources

namespace executorch {
namespace backends {
namespace xnnpack {

void set_threads(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

CreateOperator replace_create(xnn_subgraph_t subgraph, uint32_t node, CreateOperator create) {
  return std::exchange(subgraph->nodes[node].create, create);
}

void set_data(xnn_subgraph_t subgraph, uint32_t value, const void* data) {
  subgraph->values[value].data = const_cast<void*>(data);
}

void set_shape(xnn_subgraph_t subgraph, uint32_t value, const Shape& shape) {
  xnn_value& changed = subgraph->values[value];
  std::copy(shape.begin(), shape.end(), changed.shape.dim);
  changed.size = xnn_tensor_get_size(&changed);
  if (changed.datatype == xnn_datatype_qdint8) {
    changed.quantization.dynamic_params_size = xnn_tensor_get_dynamic_quant_param_size(&changed);
  }
}

void plan_memory_anew(xnn_runtime_t runtime) {
  runtime->memory_planned = false;
  for (uint32_t i = 0; i < runtime->num_values; ++i) {
    xnn_value& value = runtime->values[i];
    if (value.datatype == xnn_datatype_qdint8) {
      value.size = 0;  // then the memory for its scales follows its shape, too
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
