// SPDX-License-Identifier: BSD-3-Clause
// What the functions of llm.h share.
#pragma once

#include <executorch/extension/c_api/llm.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

#ifdef ET_C_API_LLM

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <executorch/extension/llm/chat_template/chat_template.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>

struct et_llm {
  std::shared_ptr<executorch::extension::llm::TextLLMRunner> runner;
  executorch::extension::Module* module = nullptr;  // the runner's
  std::optional<executorch::extension::llm::ChatTemplate> chat_template;
  std::string rendered;
  et_llm_stats stats = {};
  int64_t load_start_ms = 0;
  int64_t load_end_ms = 0;
  std::atomic<bool> busy{false};
};

namespace executorch {
namespace extension {
namespace c_api {

/// Claims a runner for one call.
class Claim final {
 public:
  explicit Claim(et_llm& llm) : llm_(llm), taken_(!llm.busy.exchange(true, std::memory_order_acquire)) {}
  ~Claim() {
    if (taken_) {
      llm_.busy.store(false, std::memory_order_release);
    }
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  runtime::Error check() const {
    ET_CHECK_OR_RETURN_ERROR(taken_, InvalidState,
                             "the runner is in another call: wait for its end, or call et_llm_stop");
    return runtime::Error::Ok;
  }

 private:
  et_llm& llm_;
  bool taken_;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// The body of a function, in a build with language models.
#define ET_WITH_LLM(...) __VA_ARGS__

#else

struct et_llm {};

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
