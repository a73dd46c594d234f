// SPDX-License-Identifier: BSD-3-Clause
// For the tests of language models. tests/data/make_language_model.py makes the model, and the texts that eager mode
// generates with it.
#pragma once

#include <executorch/extension/c_api/llm.h>

#include <memory>
#include <string>

#include "c_api_test_support.h"
#include "paths.h"

namespace c_api_test {

using Runner = std::unique_ptr<et_llm, FreeWith<et_llm_free>>;
using Config = std::unique_ptr<et_llm_config, FreeWith<et_llm_config_free>>;

inline const std::string kModel = std::string(executorch::tests::kDataFolder) + "/language_model.pte";
constexpr const char* kPrompt = "Once upon a time";
constexpr const char* kEager = "pDl*!Vn8{l9W{l9W{l9W";

class LlmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!et_has_llm()) {
      GTEST_SKIP() << "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER";
    }
    runner_ = C_API_MAKE(Runner, et_llm_load_file, kModel.c_str(), nullptr, nullptr);
    et_llm_config* config = nullptr;
    ASSERT_EQ(et_llm_config_create(&config, nullptr), et_status{ET_STATUS_OK});
    config_.reset(config);
    set("max_new_tokens", 20);
    ASSERT_EQ(et_llm_config_set_double(config_.get(), "temperature", 0, nullptr), et_status{ET_STATUS_OK});
  }

  void set(const char* name, int64_t value) {
    EXPECT_EQ(et_llm_config_set_int(config_.get(), name, value, nullptr), et_status{ET_STATUS_OK}) << name;
  }

  std::string generate(const char* prompt = kPrompt) {
    Answer answer;
    et_error* error = nullptr;
    EXPECT_EQ(et_llm_generate(runner_.get(), prompt, config_.get(), receive, &answer, &error), et_status{ET_STATUS_OK});
    EXPECT_EQ(take(error), "");
    return answer.text;
  }

  et_llm_stats stats() {
    et_llm_stats stats;
    EXPECT_EQ(et_llm_get_stats(runner_.get(), &stats, sizeof(stats), nullptr), et_status{ET_STATUS_OK});
    return stats;
  }

  Runner runner_;
  Config config_;
};

}  // namespace c_api_test
