// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

inline constexpr const char* kPreprocessor = "preprocessor";

/// The numbers of a method without inputs; none if the program lacks it.
inline runtime::Result<std::vector<int64_t>> numbers(Module& module, const char* method) {
  runtime::Result<std::vector<int64_t>> found = llm::metadata_numbers(module, method);
  return found.error() == runtime::Error::NotFound ? runtime::Result<std::vector<int64_t>>(std::vector<int64_t>())
                                                   : std::move(found);
}

/// Sizes of an input of a method, at most.
inline runtime::Result<std::vector<int64_t>> sizes_of(Module& module, const char* method, size_t input) {
  ET_ASSIGN_OR_RETURN(meta, module.method_meta(method));
  ET_ASSIGN_OR_RETURN(tensor, meta.input_tensor_meta(input));
  return std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end());
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
