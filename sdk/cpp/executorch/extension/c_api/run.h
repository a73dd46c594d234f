// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/c_api/result.h>
#include <executorch/extension/c_api/threads.h>

namespace executorch {
namespace extension {
namespace c_api {

/// Makes a result of the outputs of a claimed module. `inputs`: memory that outputs may be views of.
inline runtime::Error give(et_module& module, MethodSlot& slot, std::vector<InputMemory>&& inputs,
                           const std::vector<runtime::EValue>& outputs, et_result** out) {
  auto result = std::make_unique<et_result>(module.state, slot, std::move(inputs));
  for (const runtime::EValue& output : outputs) {
    ET_CHECK_OK_OR_RETURN_ERROR(result->add(output));
  }
  result->forget_inputs();
  *out = result.release();
  return runtime::Error::Ok;
}

/// Runs a method of a claimed module by calling `execute()`, and makes a result of the outputs.
/// `inputs`: the memory of the inputs.
template <typename Execute>
runtime::Error run(et_module& module, MethodSlot& slot, std::vector<InputMemory>&& inputs, Execute&& execute,
                   et_result** out) {
  slot.last_case.reset();
  const ThreadsInUse threads;
  const runtime::Result<std::vector<runtime::EValue>> outputs = execute();
  if (!outputs.ok()) {
    return outputs.error();
  }
  return give(module, slot, std::move(inputs), *outputs, out);
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
