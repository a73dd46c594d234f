// SPDX-License-Identifier: BSD-3-Clause
// State and helpers that the functions of llm.h share.
#pragma once

#include <executorch/extension/c_api/llm.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

#ifdef ET_C_API_LLM

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <executorch/extension/c_api/claim.h>
#include <executorch/extension/c_api/threads.h>
#include <executorch/extension/llm/chat_template/chat_template.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>

struct et_llm {
  std::shared_ptr<executorch::extension::llm::TextLLMRunner> runner;
  executorch::extension::Module* module = nullptr;  // belongs to `runner`
  std::optional<executorch::extension::llm::ChatTemplate> chat_template;
  std::string rendered;
  et_llm_stats stats = {};
  int64_t load_start_ms = 0;
  int64_t load_end_ms = 0;
  std::atomic<bool> busy{false};
  static constexpr const char* kBusy = "the runner is in another call: wait for its end, or call et_llm_stop";
};

struct et_llm_config {
  executorch::extension::llm::GenerationConfig values;
};

namespace executorch {
namespace extension {
namespace c_api {

/// Keeps the counts and times of a generation.
inline void note(const llm::Stats& stats, et_llm& llm) {
  llm.stats.prompt_tokens = stats.num_prompt_tokens;
  llm.stats.generated_tokens = stats.num_generated_tokens;
  llm.stats.model_load_start_ms = llm.load_start_ms;
  llm.stats.model_load_end_ms = llm.load_end_ms;
  llm.stats.inference_start_ms = stats.inference_start_ms;
  llm.stats.token_encode_end_ms = stats.token_encode_end_ms;
  llm.stats.prompt_eval_end_ms = stats.prompt_eval_end_ms;
  llm.stats.first_token_ms = stats.first_token_ms;
  llm.stats.inference_end_ms = stats.inference_end_ms;
  llm.stats.sampling_ms = stats.aggregate_sampling_time_ms;
}

/// Continues the conversation by a prompt, text or several parts, while no other call uses the runner.
template <typename Prompt>
runtime::Error generate(et_llm& llm, const Prompt& prompt, const et_llm_config* config, et_llm_text text,
                        void* context) {
  const Claim claim(llm);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  llm::GenerationConfig values;
  values.echo = false;
  if (config != nullptr) {
    values = config->values;
  }
  llm.stats = {};
  bool ended = false;
  const auto give = [&](const std::string& piece) {
    if (text != nullptr && !ended && !text(piece.c_str(), piece.size(), context)) {
      ended = true;
      llm.runner->stop();
    }
  };
  const ThreadsInUse threads;
  return llm.runner->generate(prompt, values, give, [&](const auto& stats) { note(stats, llm); });
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// Expands to its arguments in a build with language models.
#define ET_WITH_LLM(...) __VA_ARGS__

#else

struct et_llm {};
struct et_llm_config {};

namespace executorch {
namespace extension {
namespace c_api {

inline runtime::Error built_without_llm() {
  ET_LOG(Error,
         "this library was built without language models: configure it with "
         "-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON");
  return runtime::Error::NotSupported;
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

#define ET_WITH_LLM(...) return ::executorch::extension::c_api::built_without_llm();

#endif
