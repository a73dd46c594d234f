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

/// Makes a result of the outputs of a module that is claimed. `inputs`: the memory that they may lie in.
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

/// Runs a method of a module that is claimed: `execute()`, which gives its outputs, of which this makes a result.
/// `inputs`: the memory of what it reads.
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
