// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What the operators of a delegate took, for the event tracer.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/event_tracer.h>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Where a node of a subgraph comes from.
struct NodeOrigin {
  /// Of the node in the exported graph; 0 when the payload does not say.
  uint32_t debug_handle;
  /// What it is called where it is a step of ours, else null: XNNPACK knows the names of its operators.
  const char* step;
};

/// Number of nodes that were added to a subgraph so far.
size_t node_count(xnn_subgraph_t subgraph);

/// Whether each operator's end is noted when the runtime is invoked.
void set_profiling(xnn_runtime_t runtime, bool on);

/**
 * Logs an event for each operator of the last invocation, during which profiling was on, in sequence from `start`
 * (in ticks) on.
 *
 * An event's identity is the debug handle of the node in the exported graph, and its metadata the name of XNNPACK's
 * operator with its kind of kernel ("Convolution (NHWC, F32) IGEMM"), without a terminating null. Without a handle the
 * name is its identity.
 *
 * @param origins By the number of the node in the subgraph. Operators of other nodes, which XNNPACK adds, have no
 * handle.
 */
void log_operators(runtime::EventTracer& tracer, xnn_runtime_t runtime, et_timestamp_t start,
                   const std::vector<NodeOrigin>& origins);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
