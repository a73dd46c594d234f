// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for chat templates: see README.md.
#include <cstddef>
#include <cstdint>
#include <string>

#include <executorch/extension/llm/chat_template/chat_template.h>

#include "program_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using executorch::extension::llm::ChatTemplate;
  const auto parsed = ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (parsed.ok()) {
    (void)parsed->render({{"system", "Be brief."}, {"user", "H\u00e9llo\n"}, {"assistant", "<think>x</think> y"}}, true,
                         "<s>", "</s>");
    (void)parsed->render(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, 1, null],
                             "tools": [{"function": {"name": "f", "parameters": {"b": 1.5, "a": [true]}}}]})");
  }
  return 0;
}
