// SPDX-License-Identifier: BSD-3-Clause
// Makes steps nodes of XNNPACK's graph. XNNPACK has no interface for custom nodes, but a node has pointers to the
// functions that create, reshape and set up its operator, and an operator has a pointer to the function that its
// threads call. This file sets these pointers. It depends on private headers of the pinned version.
#include "private/callbacks.h"
#include "private/xnnpack_runtime.h"

#include <algorithm>
#include <new>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kScratchAlignment = 64;

/// Stored in xnn_operator::context, where XNNPACK's own operators keep the arguments of their kernels.
struct StepContext {
  Step* step;
  size_t results;  // bit i: whether the node has result i
  StepData data;
  uint8_t* scratch;
  size_t scratch_size;  // bytes for each thread
  double work;
};
static_assert(sizeof(StepContext) <= sizeof(xnn_operator::context), "a step must fit into an operator");

StepContext& context_of(const xnn_operator_data& data) {
  return *reinterpret_cast<StepContext*>(&data.operator_objects[0]->context);
}

void run_unit(void* context, size_t thread, size_t unit) {
  auto& step = *static_cast<StepContext*>(context);
  step.step->run(step.data, unit, step.scratch == nullptr ? nullptr : step.scratch + thread * step.scratch_size);
}

xnn_status reshape_step(xnn_operator_data* data, xnn_value* values, pthreadpool_t pool) {
  StepContext& context = context_of(*data);
  std::vector<Shape> in;
  for (uint32_t i = 0; i < data->num_inputs; ++i) {
    const xnn_shape& shape = values[data->inputs[i]].shape;
    in.emplace_back(shape.dim, shape.dim + shape.num_dims);
  }
  const OptionalShape shape = context.step->shape(in);
  if (!shape || shape->size() > XNN_MAX_TENSOR_DIMS) {
    return xnn_status_invalid_parameter;
  }
  const size_t threads = pthreadpool_get_threads_count(pool);
  const Step::Plan plan = context.step->plan(in, threads);
  if (plan.status != xnn_status_success) {
    return plan.status;
  }
  xnn_operator_t op = data->operator_objects[0];
  op->compute[0].type = xnn_parallelization_type_1d_with_thread;
  op->compute[0].task_1d_with_thread = run_unit;
  op->compute[0].range[0] = plan.units;
  op->state = plan.units == 0 ? xnn_run_state_skip : xnn_run_state_needs_setup;
  context.scratch_size = (plan.scratch + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  context.work = plan.work;
  bool grows = data->workspace_size < context.scratch_size * threads;
  data->workspace_size = context.scratch_size * threads;
  data->workspace_alignment = kScratchAlignment;

  for (uint32_t i = 0; i < data->num_outputs; ++i) {
    xnn_value& out = values[data->outputs[i]];
    out.shape.num_dims = shape->size();
    std::copy(shape->begin(), shape->end(), out.shape.dim);
    const size_t size = xnn_tensor_get_size(&out);
    grows = grows || size > out.size;
    out.size = std::max(out.size, size);
  }
  return grows ? xnn_status_reallocation_required : xnn_status_success;
}

xnn_status reshape_operator(xnn_operator_data* data, xnn_value* values, size_t, pthreadpool_t pool) {
  return without_exceptions(xnn_status_out_of_memory, [&] { return reshape_step(data, values, pool); });
}

xnn_status setup_operator(const xnn_operator_data* data, const xnn_value* values, size_t, pthreadpool_t) {
  StepContext& context = context_of(*data);
  for (uint32_t i = 0; i < data->num_inputs; ++i) {
    context.data.in[i] = values[data->inputs[i]].data;
  }
  void** const results[kMaxStepOutputs] = {&context.data.out, &context.data.second_out};
  for (size_t i = 0, next = 0; i < kMaxStepOutputs; ++i) {
    *results[i] = (context.results >> i & 1) == 0 ? nullptr : values[data->outputs[next++]].data;
  }
  context.scratch = static_cast<uint8_t*>(data->workspace);
  xnn_operator_t op = data->operator_objects[0];
  if (op->state == xnn_run_state_needs_setup) {
    op->state = xnn_run_state_ready;
  }
  return xnn_status_success;
}

/// Creates the operator that runs a step.
xnn_status make_operator(xnn_operator_data& data, Step& step, size_t results, uint32_t flags) {
  auto* made = static_cast<xnn_operator_t>(xnn_allocate_zero_simd_memory(sizeof(xnn_operator)));
  if (made == nullptr) {
    return xnn_status_out_of_memory;
  }
  made->type = xnn_operator_type_copy_nc_x32;  // serves only as a name here
  made->flags = flags;
  new (&made->context) StepContext{&step, results, {}, nullptr, 0, 0};
  data.operator_objects[0] = made;
  return xnn_status_success;
}

}  // namespace

double step_work(const xnn_operator_data& op) {
  return is_step(op) ? context_of(op).work : std::numeric_limits<double>::infinity();
}

Step& step_of(const xnn_node& node) {
  return *reinterpret_cast<Step*>(static_cast<uintptr_t>(node.params.static_reshape.new_shape.dim[0]));
}

xnn_status create_step(const xnn_node* node, const xnn_value* values, size_t, xnn_operator_data* data, xnn_code_cache*,
                       xnn_weights_cache_t weights) {
  Step& step = step_of(*node);
  StepData constants;
  for (uint32_t i = 0; i < node->num_inputs; ++i) {
    constants.in[i] = values[node->inputs[i]].data;
  }
  const xnn_status status = without_exceptions(xnn_status_out_of_memory, [&] { return step.pack(constants, weights); });
  if (status != xnn_status_success) {
    return status;
  }
  return make_operator(*data, step, node->params.static_reshape.new_shape.dim[1], node->flags);
}

xnn_status replace_operators(xnn_operator_data& data, Step& step) {
  for (xnn_operator_t& op : data.operator_objects) {
    op = nullptr;
  }
  data.reshape = reshape_operator;
  data.setup = setup_operator;
  return make_operator(data, step, /*results=*/1, data.flags);
}

bool is_step(const xnn_operator_data& data) {
  return data.reshape == reshape_operator;
}

namespace {

void fill_node(xnn_node& node, Step& step, const uint32_t* inputs, size_t count, const StepOutputs& outputs,
               size_t added_dims) {
  // XNNPACK never fuses a node of this type or computes it in place. It takes the output's rank to be the input's rank
  // plus num_dims, which may wrap to mean a negative number.
  node.type = xnn_node_type_static_expand_dims;
  node.params.static_reshape.new_shape.num_dims = added_dims;
  node.params.static_reshape.new_shape.dim[0] = static_cast<size_t>(reinterpret_cast<uintptr_t>(&step));
  node.num_inputs = static_cast<uint32_t>(count);
  std::copy_n(inputs, count, node.inputs);
  size_t results = 0;
  node.num_outputs = 0;
  for (size_t i = 0; i < kMaxStepOutputs; ++i) {
    if (outputs[i] != XNN_INVALID_VALUE_ID) {
      results |= size_t{1} << i;
      node.outputs[node.num_outputs++] = outputs[i];
    }
  }
  node.params.static_reshape.new_shape.dim[1] = results;
  node.create = create_step;
  node.reshape = reshape_operator;
  node.setup = setup_operator;
}

}  // namespace

void become_step(xnn_node& node, Step& step, const uint32_t* inputs, size_t count, uint32_t output) {
  fill_node(node, step, inputs, count, {output, XNN_INVALID_VALUE_ID}, 0);
}

xnn_status define_step(xnn_subgraph_t subgraph, Step& step, const uint32_t* inputs, size_t count, size_t input_rank,
                       const StepOutputs& outputs, size_t output_rank) {
  if (count == 0 || count > kMaxStepInputs) {
    return xnn_status_invalid_parameter;
  }
  xnn_node* const node = xnn_subgraph_new_node(subgraph);
  if (node == nullptr) {
    return xnn_status_out_of_memory;
  }
  fill_node(*node, step, inputs, count, outputs, output_rank - input_rank);
  return xnn_status_success;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
