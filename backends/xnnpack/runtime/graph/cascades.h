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

/// Makes cascades (steps/cascade_step.h) of the convolutions of a subgraph whose results are larger than what a core
/// keeps in its cache, where nothing else reads them. The values' shapes must be final, and no runtime made from it
/// yet.
/// @return Steps, which must live as long as the runtime.
std::vector<NodeStep> form_cascades(xnn_subgraph_t subgraph);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
