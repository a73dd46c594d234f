// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/pybindings/errors.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

/// Adds the submodule _llm_runner: sdk.extension.llm.runner. It is part of _portable_lib, which has the kernels and
/// backends of programs.
void bind_llm_runner(pybind11::module_& portable_lib);
/// Each adds a part of the submodule.
void bind_inputs(pybind11::module_& m);
void bind_text_runner(pybind11::module_& m);
void bind_chat_template(pybind11::module_& m);
void bind_engine(pybind11::module_& m);
void bind_embedder(pybind11::module_& m);
void bind_tool_calls(pybind11::module_& m);

/// Loads the tokenizer from the file `tokenizer_path`; if the path is empty, from the program `module`, which
/// `model_path` names in errors. Throws if it is missing.
std::unique_ptr<tokenizers::Tokenizer> tokenizer_of(Module& module, const std::string& model_path,
                                                    const std::optional<std::string>& tokenizer_path);

/// Runs `function`, which returns a Result, without the GIL; throws if it fails.
template <typename Function>
auto unwrap(const std::string& what, Function&& function) {
  const pybindings::LogCapture capture;
  auto result = [&] {
    const pybind11::gil_scoped_release release;
    return function();
  }();
  if (!result.ok()) {
    pybindings::throw_error(what, result.error(), capture);
  }
  return std::move(*result);
}

/// Like the function above, for an Error.
template <typename Function>
void check(const std::string& what, Function&& function) {
  unwrap(what, [&]() -> runtime::Result<bool> {
    const runtime::Error error = function();
    if (error != runtime::Error::Ok) {
      return error;
    }
    return true;
  });
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
