// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for chat templates: see README.md.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <executorch/extension/llm/chat_template/chat_template.h>

#include "program_driver.h"
#include "small_process.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

namespace {

// A template, a zero byte, and its variables as JSON.
void render(std::string_view all) {
  using executorch::extension::llm::ChatTemplate;
  const size_t end = all.rfind('\0');
  const auto parsed = ChatTemplate::parse(std::string(all.substr(0, end)));
  if (!parsed.ok()) {
    return;
  }
  if (end == std::string_view::npos) {
    (void)parsed->render({{"system", "Be brief."}, {"user", "H\u00e9llo\n"}, {"assistant", "<think>x</think> y"}}, true,
                         "<s>", "</s>");
  } else {
    (void)parsed->render(std::string(all.substr(end + 1)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  executorch::fuzz::run_in_small_process([&] { render(all); });
  return 0;
}
