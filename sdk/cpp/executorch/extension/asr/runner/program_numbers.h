// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

inline constexpr const char* kPreprocessor = "preprocessor";
inline constexpr const char* kAlignment = "alignment";

/// Returns the numbers of a method without inputs; an empty list if the program lacks the method.
inline runtime::Result<std::vector<int64_t>> numbers(Module& module, const char* method) {
  runtime::Result<std::vector<int64_t>> found = llm::metadata_numbers(module, method);
  return found.error() == runtime::Error::NotFound ? runtime::Result<std::vector<int64_t>>(std::vector<int64_t>())
                                                   : std::move(found);
}

/// Returns the first number of the method. InvalidProgram, which is logged, unless it is from `least` to INT32_MAX.
inline runtime::Result<std::optional<int64_t>> number(Module& module, const char* method, int64_t least) {
  ET_ASSIGN_OR_RETURN(found, numbers(module, method));
  if (found.empty()) {
    return std::optional<int64_t>();
  }
  ET_CHECK_OR_RETURN_ERROR(found.front() >= least && found.front() <= INT32_MAX, InvalidProgram,
                           "method '%s' returns %" PRId64 "; expected a number from %" PRId64 " to %" PRId32, method,
                           found.front(), least, INT32_MAX);
  return std::optional<int64_t>(found.front());
}

/// Returns the largest number of tokens of the decoder, prompt included; INT64_MAX if the program has no limit.
inline runtime::Result<int64_t> context_of(Module& module) {
  ET_ASSIGN_OR_RETURN(found, number(module, "get_max_context_len", 1));
  return found.value_or(INT64_MAX);
}

/// Returns the largest sizes of an input of a method.
inline runtime::Result<std::vector<int64_t>> sizes_of(Module& module, const char* method, size_t input) {
  ET_ASSIGN_OR_RETURN(meta, module.method_meta(method));
  ET_ASSIGN_OR_RETURN(tensor, meta.input_tensor_meta(input));
  return std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end());
}

/// Whether an input of a method has a fixed shape. Loads the method.
inline runtime::Result<bool> has_fixed_sizes(Module& module, const char* method, size_t input) {
  ET_ASSIGN_OR_RETURN(loaded, module.method(method));
  return runtime::internal::shape_dynamism_of(loaded->get_input(input).toTensor()) ==
         executorch::aten::TensorShapeDynamism::STATIC;
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
