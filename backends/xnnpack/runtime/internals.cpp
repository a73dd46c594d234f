// SPDX-License-Identifier: BSD-3-Clause
#include "internals.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "steps/step.h"
#include "xnnpack/compute.h"
#include "xnnpack/operator.h"  // what a runtime is made of, in the pinned sources
#include "xnnpack/subgraph.h"

// What XNNPACK's operators for products do for some rows and columns. Its header shows them to C alone.
extern "C" void xnn_compute_gemm(void* context, size_t row, size_t column, size_t rows, size_t columns);
extern "C" void xnn_compute_dqgemm(void* context, size_t row, size_t column, size_t rows, size_t columns);

namespace executorch {
namespace backends {
namespace xnnpack {

uint32_t no_fusion_flag() {
  return XNN_FLAG_NO_OPERATOR_FUSION;
}

void set_threads(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

namespace {

/// Products that a core computes in some two microseconds, about what telling a thread and waiting for it takes at
/// best.
constexpr double kSmallWork = 1 << 15;
/// What the operators that are not small must come to for the threads to be woken, some third of a millisecond of
/// vectors of eight numbers or more, and of four at most on other processors. They sleep between executions, and an
/// execution cannot end before the system has given each of them a core: where others want that core, milliseconds
/// later.
#if defined(__x86_64__) || defined(_M_X64)
constexpr double kWakingWork = 1 << 24;
#else
constexpr double kWakingWork = 1 << 22;
#endif
/// What an element of other operators costs, in products.
constexpr double kElementWork = 8;

double elements(const xnn_value& value) {
  double count = 1;
  for (size_t i = 0; i < value.shape.num_dims; ++i) {
    count *= static_cast<double>(value.shape.dim[i]);
  }
  return count;
}

/// Roughly, in products. Infinity for operators whose work does not follow from the shapes of what they read and write.
double work_of(const xnn_operator_data& op, const xnn_value* values) {
  const xnn_value& out = values[op.outputs[0]];
  const double results = elements(out);
  switch (op.type) {
    case xnn_node_type_fully_connected:
    case xnn_node_type_convolution_2d:
    case xnn_node_type_depthwise_convolution_2d: {
      const double channels = out.shape.num_dims == 0 ? 1 : static_cast<double>(out.shape.dim[out.shape.num_dims - 1]);
      return results * elements(values[op.inputs[1]]) / std::max(channels, 1.0);
    }
    case xnn_node_type_binary_elementwise:
    case xnn_node_type_concatenate2:
    case xnn_node_type_concatenate3:
    case xnn_node_type_concatenate4:
    case xnn_node_type_concatenate5:
    case xnn_node_type_convert:
    case xnn_node_type_copy:
    case xnn_node_type_static_reshape:
    case xnn_node_type_static_slice:
    case xnn_node_type_static_transpose:
    case xnn_node_type_unary_elementwise:
      return results * kElementWork;
    default:
      return step_work(op);
  }
}

/// As XNNPACK notes times; of no use where profile.cpp does not read them.
xnn_timestamp now() {
#if defined(__MACH__)
  return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
  xnn_timestamp time{};
#if !defined(_WIN32) && !defined(__EMSCRIPTEN__)
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
#endif
  return time;
#endif
}

}  // namespace

std::vector<bool> find_small_operators(xnn_runtime_t runtime) {
  std::vector<bool> is_small(runtime->num_ops);
  double shared = 0;
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    const xnn_operator_data& op = runtime->opdata[i];
    if (op.operator_objects[0] != nullptr) {
      const double work = work_of(op, runtime->values);
      is_small[i] = work < kSmallWork;
      shared += is_small[i] ? 0 : work;
    }
  }
  if (shared < kWakingWork) {
    is_small.assign(is_small.size(), true);
  }
  return is_small;
}

namespace {

/// Bytes of weights that stay in a core's second cache, with the rows that pass by, until all rows have.
constexpr size_t kWeightsAtOnce = 96 << 10;

template <void (*Compute)(void*, size_t, size_t, size_t, size_t)>
void compute_columns(void* context, size_t column, size_t row, size_t columns, size_t rows) {
  Compute(context, row, column, rows, columns);
}

/// What takes the columns first and computes the same; null for other tasks.
pthreadpool_task_2d_tile_2d_t by_columns(const compute_parameters& compute) {
  if (compute.type != xnn_parallelization_type_2d_tile_2d) {
    return nullptr;
  }
  return compute.task_2d_tile_2d == xnn_compute_gemm     ? compute_columns<xnn_compute_gemm>
         : compute.task_2d_tile_2d == xnn_compute_dqgemm ? compute_columns<xnn_compute_dqgemm>
                                                         : nullptr;
}

}  // namespace

size_t order_products(xnn_runtime_t runtime, size_t threads) {
  size_t ordered = 0;
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    const xnn_operator_t op = runtime->opdata[i].operator_objects[0];
    const auto task = op == nullptr ? nullptr : by_columns(op->compute[0]);
    if (task == nullptr) {
      continue;
    }
    compute_parameters& compute = op->compute[0];
    const gemm_context& product = op->context.gemm.gemm.gemm;
    const size_t rows = compute.range[0], columns = compute.range[1], tile_rows = compute.tile[0];
    const size_t weights = columns * product.w_stride;
    // One thread reads the weights for each tile of rows. Of several, each reads all of them for its rows, or all rows
    // for its columns.
    if (rows <= tile_rows || weights <= (threads > 1 ? rows * product.a_stride : kWeightsAtOnce)) {
      continue;
    }
    // Two panels at least, and whole ones, two parts for each thread.
    const size_t step = size_t{2} * op->ukernel.gemm.nr;
    const size_t share = threads > 1 ? std::min(columns / (2 * threads), kWeightsAtOnce / product.w_stride)
                                     : kWeightsAtOnce / product.w_stride;
    compute.task_2d_tile_2d = task;
    compute.range[0] = columns;
    compute.range[1] = rows;
    compute.tile[0] = std::max<size_t>(1, share / step) * step;
    compute.tile[1] = tile_rows;
    ++ordered;
  }
  return ordered;
}

size_t constants_size(xnn_runtime_t runtime) {
  size_t size = 0;
  for (uint32_t i = 0; i < runtime->num_values; ++i) {
    const xnn_value& value = runtime->values[i];
    size += value.allocation_type == xnn_allocation_type_static ? value.size : 0;
  }
  return size;
}

std::optional<size_t> sleeps_after(xnn_runtime_t runtime) {
  for (size_t i = runtime->num_ops; i-- > 0;) {
    const xnn_operator_t op = runtime->opdata[i].operator_objects[0];
    if (op != nullptr && (op->flags & XNN_FLAG_YIELD_WORKERS) != 0) {
      return i;
    }
  }
  return std::nullopt;
}

xnn_status invoke(xnn_runtime_t runtime, const std::vector<bool>& is_small, Rest rest) {
  size_t last_shared = runtime->num_ops;
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    if (runtime->opdata[i].operator_objects[0] != nullptr && !is_small[i]) {
      last_shared = i;
    }
  }
  if (runtime->profiling) {
    runtime->start_ts = now();
  }
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    xnn_operator_data& op = runtime->opdata[i];
    for (size_t j = 0; j < XNN_MAX_OPERATOR_OBJECTS; ++j) {
      if (op.operator_objects[j] == nullptr) {
        continue;  // it became a part of another one
      }
      uint32_t& flags = op.operator_objects[j]->flags;
      flags = rest == Rest::Asleep && i == last_shared ? flags | XNN_FLAG_YIELD_WORKERS
                                                       : flags & ~uint32_t{XNN_FLAG_YIELD_WORKERS};
      const xnn_status status =
          xnn_run_operator_with_index(op.operator_objects[j], i, j, is_small[i] ? nullptr : runtime->threadpool);
      if (status != xnn_status_success) {
        return status;
      }
      if (runtime->profiling) {
        op.end_ts[j] = now();
      }
    }
  }
  return xnn_status_success;
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
