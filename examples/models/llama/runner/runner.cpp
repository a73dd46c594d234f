// SPDX-License-Identifier: BSD-3-Clause
#include "runner.h"

#include <utility>

#include <executorch/extension/llm/runner/llm_runner_helper.h>

namespace example {

namespace llm = executorch::extension::llm;

std::unique_ptr<llm::IRunner> create_llama_runner(const std::string& model_path, const std::string& tokenizer_path,
                                                  std::optional<const std::string> data_path, float temperature) {
  if (tokenizer_path.empty()) {
    return llm::create_text_llm_runner(
        model_path, data_path ? std::vector<std::string>{*data_path} : std::vector<std::string>(), temperature);
  }
  auto tokenizer = llm::load_tokenizer(tokenizer_path);
  if (!tokenizer) {
    ET_LOG(Error, "the tokenizer cannot be loaded: %s", tokenizers::last_error_message());
    return nullptr;
  }
  return llm::create_text_llm_runner(model_path, std::move(tokenizer), std::move(data_path), temperature);
}

}  // namespace example
