// SPDX-License-Identifier: BSD-3-Clause
#include "threads/sharing.h"

#include <executorch/extension/threadpool/team.h>
#include <pthreadpool.h>

#include <algorithm>
#include <ctime>

#include "private/xnnpack_runtime.h"
#include "steps/step.h"

// The tasks of XNNPACK's GEMM operators, for a tile of rows and columns. Its header declares them for C only.
extern "C" void xnn_compute_gemm(void* context, size_t row, size_t column, size_t rows, size_t columns);
extern "C" void xnn_compute_dqgemm(void* context, size_t row, size_t column, size_t rows, size_t columns);

namespace executorch {
namespace backends {
namespace xnnpack {

using extension::threadpool::Team;

void set_threads(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

namespace {

/// Multiplications that a core computes in about two microseconds, the least that waking a thread and waiting for it
/// takes.
constexpr double kSmallWork = 1 << 15;
/// Threads are woken if the operators that are not small have at least this much work together. It takes a core a third
/// of a millisecond, with vectors of eight floats or more on x86-64, of four elsewhere. Threads sleep between
/// executions and start about fifty microseconds after they are woken. On systems other than Linux and Android, an
/// execution ends only after each thread has been scheduled, which takes milliseconds if other programs use the cores.
#if defined(__x86_64__) || defined(_M_X64)
constexpr double kWakingWork = 1 << 24;
#else
constexpr double kWakingWork = 1 << 22;
#endif
/// The cost of an element of other operators, in multiplications.
constexpr double kElementWork = 8;
/// The cost of an element of a conversion, whose input the caller has often just written.
constexpr double kConvertWork = 1;
/// GEMMs of one row are bound by loading weights: the cost of a byte, in multiplications.
constexpr double kWeightWork = 0.5;
/// A team is for operators with less work than this on average, for which waking a pool's threads for each operator
/// takes too long. It shares GEMMs only, which must be at least seven eighths of the work.
constexpr double kTeamWork = 1 << 18;
constexpr double kRestOfTeam = 0.125;

double elements(const xnn_value& value) {
  double count = 1;
  for (size_t i = 0; i < value.shape.num_dims; ++i) {
    count *= static_cast<double>(value.shape.dim[i]);
  }
  return count;
}

/// A rough estimate of an operator's work, in multiplications. Infinity if the work does not follow from the shapes of
/// inputs and outputs.
double work_of(const xnn_operator_data& op, const xnn_value* values) {
  const xnn_value& out = values[op.outputs[0]];
  const double results = elements(out);
  switch (op.type) {
    case xnn_node_type_fully_connected:
    case xnn_node_type_convolution_2d:
    case xnn_node_type_depthwise_convolution_2d: {
      const xnn_value& weights = values[op.inputs[1]];
      const double channels = out.shape.num_dims == 0 ? 1 : static_cast<double>(out.shape.dim[out.shape.num_dims - 1]);
      const double rows = results / std::max(channels, 1.0);
      return std::max(rows * elements(weights), kWeightWork * static_cast<double>(weights.size));
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
      return results * kElementWork;
    case xnn_node_type_unary_elementwise:
      return results * (values[op.inputs[0]].datatype == out.datatype ? kElementWork : kConvertWork);
    default:
      return step_work(op);
  }
}

/// The time as XNNPACK records it, for profile.cpp.
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

namespace {

/// Bytes of weights that stay in a core's L2 cache, besides the rows, until all rows are multiplied by them.
constexpr size_t kWeightsAtOnce = 96 << 10;

template <void (*Compute)(void*, size_t, size_t, size_t, size_t)>
void compute_columns(void* context, size_t column, size_t row, size_t columns, size_t rows) {
  Compute(context, row, column, rows, columns);
}

/// The task that computes the same with columns in the outer loop; null for other tasks.
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
    // With one thread, a loop over rows loads all weights again for each tile of rows. With several threads, each loads
    // all weights for its share of the rows, or all rows for its share of the columns.
    if (rows <= tile_rows || weights <= (threads > 1 ? rows * product.a_stride : kWeightsAtOnce)) {
      continue;
    }
    // Tiles have a multiple of two panels; with several threads, there are two tiles of columns or more for each.
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

namespace {

/// The task of an operator that a team shares: its only one, if it is a GEMM; null for other operators.
const compute_parameters* team_task(const xnn_operator* op) {
  if (op == nullptr || op->compute[0].type != xnn_parallelization_type_2d_tile_2d ||
      op->compute[1].type != xnn_parallelization_type_invalid) {
    return nullptr;
  }
  const auto task = op->compute[0].task_2d_tile_2d;
  const bool is_product = task == xnn_compute_gemm || task == compute_columns<xnn_compute_gemm> ||
                          task == xnn_compute_dqgemm || task == compute_columns<xnn_compute_dqgemm>;
  return is_product ? &op->compute[0] : nullptr;
}

/// The tiles of an operator, divided into parts for a team.
struct TeamWork {
  const compute_parameters* task;
  void* context;
  size_t across, tiles, parts;

  TeamWork(const compute_parameters& shared, xnn_operator_t op, size_t threads)
      : task(&shared), context(reinterpret_cast<char*>(&op->context) + shared.context_offset) {
    across = (task->range[1] + task->tile[1] - 1) / task->tile[1];
    tiles = (task->range[0] + task->tile[0] - 1) / task->tile[0] * across;
    // One part for each thread, because taking a part costs a cache miss between cores.
    parts = std::min({tiles, threads, Team::kMostParts});
  }

  static void run(const void* work, size_t part) {
    const auto& [task, context, across, tiles, parts] = *static_cast<const TeamWork*>(work);
    for (size_t tile = part * tiles / parts; tile < (part + 1) * tiles / parts; ++tile) {
      const size_t i = tile / across * task->tile[0], j = tile % across * task->tile[1];
      task->task_2d_tile_2d(context, i, j, std::min(task->tile[0], task->range[0] - i),
                            std::min(task->tile[1], task->range[1] - j));
    }
  }
};

/// One operator: with the team if there is one, or else with all threads of the runtime, unless it is small.
xnn_status run_operator(xnn_runtime_t runtime, size_t node, size_t object, bool is_small, Team* team) {
  const xnn_operator_t op = runtime->opdata[node].operator_objects[object];
  const compute_parameters* const task =
      team == nullptr || is_small || op->state != xnn_run_state_ready ? nullptr : team_task(op);
  if (task == nullptr) {
    return xnn_run_operator_with_index(op, node, object, is_small || team != nullptr ? nullptr : runtime->threadpool);
  }
  const TeamWork work(*task, op, pthreadpool_get_threads_count(runtime->threadpool));
  team->share(TeamWork::run, &work, work.parts);
  return xnn_status_success;
}

xnn_status run_operators(xnn_runtime_t runtime, const std::vector<bool>& is_small, Rest rest, Team* team,
                         OperatorObserver* observer) {
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
        continue;  // it was fused into another node
      }
      uint32_t& flags = op.operator_objects[j]->flags;
      flags = rest == Rest::Asleep && i == last_shared ? flags | XNN_FLAG_YIELD_WORKERS
                                                       : flags & ~uint32_t{XNN_FLAG_YIELD_WORKERS};
      const xnn_status status = run_operator(runtime, i, j, is_small[i], team);
      if (status != xnn_status_success) {
        return status;
      }
      if (runtime->profiling) {
        op.end_ts[j] = now();
      }
    }
    if (observer != nullptr && op.operator_objects[0] != nullptr) {
      observer->after(i);
    }
  }
  return xnn_status_success;
}

struct TeamRun {
  xnn_runtime_t runtime;
  const Sharing& sharing;
  Team team;
  xnn_status status = xnn_status_success;

  static void take_part(void* context, size_t number) {
    auto& run = *static_cast<TeamRun*>(context);
    if (number != 0) {
      return run.team.help();
    }
    run.status = run_operators(run.runtime, run.sharing.is_small, Rest::Awake, &run.team, nullptr);
    run.team.close();
  }
};

}  // namespace

Sharing plan_sharing(xnn_runtime_t runtime, size_t threads) {
  Sharing sharing;
  sharing.is_small.resize(runtime->num_ops);
  double all = 0, products = 0, count = 0;
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    const xnn_operator_data& op = runtime->opdata[i];
    if (op.operator_objects[0] != nullptr) {
      const double work = work_of(op, runtime->values);
      sharing.is_small[i] = work < kSmallWork;
      if (!sharing.is_small[i]) {
        all += work;
        products += team_task(op.operator_objects[0]) != nullptr ? work : 0;
        ++count;
      }
    }
  }
  if (all < kWakingWork) {
    sharing.is_small.assign(sharing.is_small.size(), true);
    sharing.has_one_thread = true;
  } else {
    sharing.as_team = threads > 1 && all < count * kTeamWork && products >= all * (1 - kRestOfTeam);
  }
  return sharing;
}

xnn_status invoke(xnn_runtime_t runtime, const Sharing& sharing, Rest rest, OperatorObserver* observer) {
  if (!sharing.as_team || observer != nullptr) {
    return run_operators(runtime, sharing.is_small, rest, nullptr, observer);
  }
  TeamRun run{runtime, sharing, {}};
  // XNNPACK disables denormals for each operator, too.
  const uint32_t flags =
      PTHREADPOOL_FLAG_DISABLE_DENORMALS | (rest == Rest::Asleep ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
  pthreadpool_parallelize_1d(runtime->threadpool, TeamRun::take_part, &run,
                             pthreadpool_get_threads_count(runtime->threadpool), flags);
  return run.status;
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

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
