// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Times of a delegate's operators, for the event tracer.
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

/// The origin of a node of a subgraph.
struct NodeOrigin {
  /// The debug handle of the node in the exported graph; 0 if the payload has none.
  uint32_t debug_handle;
  /// The name of a step; null for operators of XNNPACK, which have names of their own.
  const char* step;
};

/// The number of nodes that have been added to a subgraph.
size_t node_count(xnn_subgraph_t subgraph);

/// Whether invoke() records the time at which each operator ends.
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
