// SPDX-License-Identifier: BSD-3-Clause
// MPSGraph behind an interface in C++: only the files .mm, which implement it, are Objective-C++. No exception leaves
// them.
#pragma once

#include <memory>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#include "payload.h"

namespace executorch {
namespace backends {
namespace mps {

/// A graph that is compiled for the GPU.
class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /**
   * Runs the graph and waits for it. Inputs and outputs are copied between the caller's memory and that of the GPU.
   * Several threads may call it; they run one at a time.
   *
   * @param args Contiguous tensors with the dtypes and sizes of the payload: the inputs, then the outputs.
   * @returns The errors of extension/delegate/arguments.h, or DelegateInvalidHandle (logged) with what MPSGraph raised.
   */
  virtual runtime::Error execute(runtime::Span<runtime::EValue*> args) = 0;
};

/// Whether there is a GPU and the system is new enough: iOS 15.4 or macOS 12.4.
bool is_mps_available();

/**
 * Builds and compiles the graph of a payload.
 *
 * @param graph Its constants are copied.
 * @returns InvalidProgram (logged) for a node whose operands do not fit it, NotSupported (logged) for an operation that
 *     needs a newer system, or DelegateInvalidCompatibility (logged) if MPSGraph cannot compile it.
 */
runtime::Result<std::unique_ptr<Model>> open_model(const Graph& graph);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
