// SPDX-License-Identifier: BSD-3-Clause
// libllama_runner: language models with all kernels and backends that are built, as a shared library.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <executorch/extension/llm/runner/irunner.h>

namespace example {

/// A runner for the program and the tokenizer in these files. `data_path`: a .ptd file with its weights. `temperature`
/// replaces the GenerationConfig's; -1 keeps that. nullptr if one of the files cannot be used; the log has the reason.
std::unique_ptr<executorch::extension::llm::IRunner> create_llama_runner(
    const std::string& model_path, const std::string& tokenizer_path,
    std::optional<const std::string> data_path = std::nullopt, float temperature = -1.0f);

}  // namespace example
