// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/c_api/options.h>
#include <executorch/extension/c_api/tensor.h>
#include <executorch/extension/module/module.h>

/// What is known of a method; the program is alive as long as the module.
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
  /// Results whose memory is still in use: class Lease.
  std::atomic<size_t> leases{0};
  /// Tensors that outputs are written to, by output.
  std::vector<std::pair<size_t, std::shared_ptr<TensorStorage>>> outputs;
  /// The test case whose outputs its memory has.
  std::optional<size_t> last_case;
};

/// A module with all that it refers to. Modules and their results share it. The order matters: the module goes first.
struct ModuleState {
  et_options options;
  runtime::LoadBackendOptionsMap backend_options;
  std::deque<MethodSlot> methods;
  /// The bundled program that the module's is from, or null.
  std::shared_ptr<const void> bundle;
  std::unique_ptr<Module> module;
  std::atomic<bool> busy{false};

  /// The method of that name. InvalidArgument, naming those there are.
  runtime::Result<MethodSlot*> method(const char* name);
};

/// Claims a module for one call. Error::InvalidState when another call has it.
class Claim final {
 public:
  explicit Claim(ModuleState& state) : state_(state), taken_(!state.busy.exchange(true, std::memory_order_acquire)) {}
  ~Claim() {
    if (taken_) {
      state_.busy.store(false, std::memory_order_release);
    }
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  bool taken() const { return taken_; }

  runtime::Error check() const {
    ET_CHECK_OR_RETURN_ERROR(taken_, InvalidState,
                             "the module is running another call: one at a time, or a module for each thread from "
                             "et_module_share");
    return runtime::Error::Ok;
  }

 private:
  ModuleState& state_;
  bool taken_;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

struct et_module {
  std::shared_ptr<executorch::extension::c_api::ModuleState> state;
};
