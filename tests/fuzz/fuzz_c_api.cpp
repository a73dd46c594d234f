// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target: see README.md.
#include <cstddef>
#include <cstdint>

#include <executorch/extension/c_api/executorch.h>

#include "c_api_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const et_log_sink drop = [](et_log_level, const char*, size_t, const char*, void*) {};
  (void)et_set_log_sink(drop, nullptr, ET_LOG_LEVEL_FATAL, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::run_c_api(data, size);
  return 0;
}
