// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/c_api/claim.h>
#include <executorch/extension/c_api/options.h>
#include <executorch/extension/c_api/tensor.h>
#include <executorch/extension/module/module.h>

/// Metadata of a method; the program is alive as long as the module.
struct et_method_meta {
  explicit et_method_meta(const executorch::extension::MethodMeta& method_meta) : meta(method_meta) {}
  executorch::extension::MethodMeta meta;
};

namespace executorch {
namespace extension {
namespace c_api {

/// A method of a module.
struct MethodSlot {
  explicit MethodSlot(const MethodMeta& method_meta) : meta(method_meta) {}

  et_method_meta meta;
  /// The number of results whose memory is in use: class Lease.
  std::atomic<size_t> leases{0};
  /// Tensors that outputs are written to, by index of the output.
  std::vector<std::pair<size_t, std::shared_ptr<TensorStorage>>> outputs;
  /// The test case of the last run.
  std::optional<size_t> last_case;
};

/// A module with everything that it refers to, shared by modules and results. The module must be destroyed first.
struct ModuleState {
  et_options options;
  runtime::LoadBackendOptionsMap backend_options;
  std::deque<MethodSlot> methods;
  /// The bundled program that contains the module's program, or null.
  std::shared_ptr<const void> bundle;
  std::unique_ptr<Module> module;
  std::atomic<bool> busy{false};
  static constexpr const char* kBusy =
      "the module is running another call: one at a time, or a module for each thread from et_module_share";

  /// Returns the method with that name. InvalidArgument, with all names, if it does not exist.
  runtime::Result<MethodSlot*> method(const char* name);
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

struct et_module {
  std::shared_ptr<executorch::extension::c_api::ModuleState> state;
};
