// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A step, and the number of the node that runs it.
struct NodeStep {
  uint32_t node;
  std::unique_ptr<Step> step;
};

/// Replaces convolutions of a subgraph by cascades (steps/cascade_step.h) where an intermediate result is larger than a
/// core's L2 cache and no other node reads it. Call it when all shapes are set, and before a runtime is created.
/// @return The steps, which must outlive the runtime.
std::vector<NodeStep> form_cascades(xnn_subgraph_t subgraph);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
