// SPDX-License-Identifier: BSD-3-Clause
// Core ML behind an interface in C++: only model.mm, which implements it, is Objective-C++. No exception leaves it.
#pragma once

#include <memory>
#include <string>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#include "container.h"

namespace executorch {
namespace backends {
namespace coreml {

/// A loaded function of a model with its state.
class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /**
   * Runs the function. Inputs whose dtype Core ML has are read in place, whatever their strides are; others are
   * converted first. Outputs are copied, and resized to what Core ML returns. Allocates nothing itself while the
   * inputs stay in the same memory and keep their sizes. One thread at a time may call it, because
   * calls share the state.
   *
   * @param args Tensors, in the order of the names: the inputs, then the outputs.
   * @returns InvalidArgument (logged) for a shape that the model does not allow; the message lists the allowed ones.
   *     DelegateInvalidHandle (logged) with Core ML's text if it fails, or the errors of
   * extension/delegate/arguments.h.
   */
  virtual runtime::Error execute(runtime::Span<runtime::EValue*> args) = 0;
};

/// Whether the system is new enough: iOS 16 or macOS 13.
bool is_core_ml_available();

/// A text that changes with the system's version, and so with its compiler.
std::string system_version();

/// The folder of the application's caches, and one for temporary files.
std::string caches_folder();
std::string temporary_folder();

/// Compiles the folder `package` and returns the path of the result. DelegateInvalidCompatibility (logged) with Core
/// ML's text if it fails.
runtime::Result<std::string> compile_model(const std::string& package);

/**
 * Loads a compiled model.
 *
 * @param path The folder of the compiled model.
 * @param function The name of the function; empty for a model that has one.
 * @param compute_unit `cpu_only`, `cpu_and_gpu`, `cpu_and_ne` or `all`.
 * @param names The inputs and outputs, in the order of the arguments of execute().
 * @returns DelegateInvalidCompatibility (logged) with Core ML's text, InvalidProgram (logged) if the model has no such
 *     inputs or outputs, or NotSupported (logged) if the dtype of one is unknown.
 */
runtime::Result<std::unique_ptr<Model>> open_model(const std::string& path, const std::string& function,
                                                   const std::string& compute_unit, const FunctionNames& names);

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
