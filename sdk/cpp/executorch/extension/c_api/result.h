// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <executorch/extension/c_api/module_state.h>
#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace extension {
namespace c_api {

/// While the object exists, a method cannot be unloaded, and its module stays alive.
class Lease final {
 public:
  Lease(std::shared_ptr<ModuleState> state, MethodSlot& slot) : state_(std::move(state)), slot_(slot) {
    ++slot_.leases;
  }
  ~Lease() { --slot_.leases; }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  std::shared_ptr<ModuleState> state_;
  MethodSlot& slot_;
};

/// The memory of an input tensor.
struct InputMemory {
  const uint8_t* data;
  size_t size;
  std::shared_ptr<const void> owner;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// The outputs of a run and the memory that they are views of: the method's, or that of an input used in place.
struct et_result {
  et_result(std::shared_ptr<executorch::extension::c_api::ModuleState> state,
            executorch::extension::c_api::MethodSlot& slot,
            std::vector<executorch::extension::c_api::InputMemory> inputs);
  et_result(const et_result&) = delete;
  et_result& operator=(const et_result&) = delete;

  /// Appends an output. NotSupported for a type that et_value does not have.
  executorch::runtime::Error add(const executorch::runtime::EValue& output);

  /// Call after the last output: releases the inputs that no output is a view of.
  void forget_inputs() { inputs_.clear(); }

  const std::vector<et_value>& values() const { return values_; }

 private:
  const et_tensor* add_tensor(const executorch::aten::Tensor& tensor);

  /// Shared with the tensors of the result, so that views of their memory keep it alive. Only inputs that an output is
  /// a view of: a loop that feeds outputs back must not keep all earlier inputs alive.
  struct Held {
    executorch::extension::c_api::Lease lease;
    std::vector<std::shared_ptr<const void>> inputs;
  };
  std::shared_ptr<Held> held_;
  std::vector<executorch::extension::c_api::InputMemory> inputs_;
  std::vector<et_value> values_;
  std::deque<et_tensor> tensors_;
  std::deque<std::vector<const et_tensor*>> lists_;
};
