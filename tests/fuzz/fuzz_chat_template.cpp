// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for chat templates: see README.md.
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <executorch/extension/llm/chat_template/chat_template.h>

#include "program_driver.h"

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

void* on_thread(void* all) {
  render(*static_cast<std::string_view*>(all));
  return nullptr;
}

}  // namespace

// On a stack of 512 KB, as threads of phones have.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view all(reinterpret_cast<const char*>(data), size);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 * 1024);
  const bool started = pthread_create(&thread, &attributes, on_thread, &all) == 0;
  pthread_attr_destroy(&attributes);
  if (started) {
    pthread_join(thread, nullptr);
  }
  return 0;
}
