// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What can be done with a runtime of XNNPACK that its own interface does not offer.
 */
#pragma once

#include <xnnpack.h>

#include "shapes.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Makes the runtime work on the threads of `pool`, null for the caller's alone, from the next xnn_reshape_runtime()
/// on. XNNPACK's own interface knows the threads only when a runtime is created.
void set_threads(xnn_runtime_t runtime, pthreadpool_t pool);

/// Gives a value of the subgraph, which no runtime was made from yet, another shape of the same rank.
void set_shape(xnn_subgraph_t subgraph, uint32_t value, const Shape& shape);

/// Makes the next xnn_reshape_runtime() plan the memory of the values for their shapes of then. XNNPACK plans anew only
/// when a value is larger than it ever was or than the graph says, which is more than what it has planned when the
/// shapes before were small.
void plan_memory_anew(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
