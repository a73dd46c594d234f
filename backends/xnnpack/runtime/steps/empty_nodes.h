// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <memory>
#include <vector>

#include <executorch/runtime/core/error.h>

#include "graph/shapes.h"
#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/**
 * Lets a runtime compute while some of its values are empty, that is, have no elements; XNNPACK's operators refuse
 * empty tensors. Nodes that compute only empty values do not run. Nodes that compute other values from empty ones
 * give what PyTorch does: a sum and a matrix multiplication are 0, a mean is NaN, concatenation leaves the empty
 * tensors out, and a padded tensor, also one that a convolution pads, holds padding only. The destructor restores the
 * nodes.
 */
class EmptyNodes final {
 public:
  explicit EmptyNodes(xnn_runtime_t runtime);
  ~EmptyNodes();
  EmptyNodes(const EmptyNodes&) = delete;
  EmptyNodes& operator=(const EmptyNodes&) = delete;

  /**
   * Replaces the nodes, and sets the shapes of the values that nodes compute. Those of the inputs must be set. Reshape
   * the runtime afterwards, and again after the destructor.
   *
   * @retval Error::NotSupported (logged) the result of an operator for empty tensors is not implemented.
   */
  runtime::Error replace(const std::vector<ShapeRule>& rules, const std::vector<Shape>& shapes);

 private:
  struct Kept;

  /// Saves a node for the destructor, and removes its operators.
  xnn_operator_data& keep(size_t node);
  /// Makes a node compute its result if some of its operands are empty.
  runtime::Error compute(size_t node);

  const xnn_runtime_t runtime_;
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
