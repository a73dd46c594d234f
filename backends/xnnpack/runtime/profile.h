// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Logs the durations and results of a delegate's operators to the event tracer.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/event_tracer.h>

#include "threads/sharing.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// The origin of a node of a subgraph.
struct NodeOrigin {
  /// The debug handle of the node in the exported graph; 0 if the payload does not have it.
  uint32_t debug_handle;
  /// The name of a step; null for operators of XNNPACK, which have their own names.
  const char* step;
};

/// The number of nodes that have been added to a subgraph.
size_t node_count(xnn_subgraph_t subgraph);

/// The values that a node of a subgraph computes.
std::vector<uint32_t> outputs_of(xnn_subgraph_t subgraph, size_t node);

/// Whether invoke() records the time at which each operator ends.
void set_profiling(xnn_runtime_t runtime, bool on);

/**
 * Logs an event for each operator of an invocation during which profiling was on.
 *
 * An event is identified by the debug handle of the node in the exported graph, or by the operator's name if there is
 * no handle. Its metadata is the name of XNNPACK's operator with its kind of kernel ("Convolution (NHWC, F32) IGEMM"),
 * without a terminating null.
 */
class OperatorLog {
 public:
  /// Call it after each xnn_reshape_runtime(), which chooses the operators' kernels.
  void forget_operators() { is_found_ = false; }

  /// The first event begins at `start` (in ticks), and each of the others where the one before it ends.
  /// @param origins Indexed by the number of the node in the subgraph. Nodes that XNNPACK adds have no handle.
  void write(runtime::EventTracer& tracer, xnn_runtime_t runtime, et_timestamp_t start,
             const std::vector<NodeOrigin>& origins);

 private:
  struct Operator {
    size_t index;  ///< Position in the runtime's array.
    uint32_t debug_handle;
    std::string name;
  };

  void find_operators(xnn_runtime_t runtime, const std::vector<NodeOrigin>& origins);

  std::vector<Operator> operators_;
  bool is_found_ = false;
};

/**
 * Logs the results of each operator right after it has run, because later operators reuse its memory.
 *
 * A value has the debug handle of the payload's node that computes it, even if XNNPACK has fused that node into
 * another. Dimensions are in memory order: images are NHWC. Values without a handle are not logged, nor are values
 * quantised per row, whose scales are computed at run time.
 */
class ValueLogger final : public OperatorObserver {
 public:
  /// @param handles Indexed by the number of the value in the subgraph; 0 for none. All arguments must outlive the
  /// object.
  ValueLogger(runtime::EventTracer& tracer, xnn_runtime_t runtime, const std::vector<uint32_t>& handles)
      : tracer_(tracer), runtime_(runtime), handles_(handles) {}

  void after(size_t node) override;

 private:
  runtime::EventTracer& tracer_;
  xnn_runtime_t runtime_;
  const std::vector<uint32_t>& handles_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
