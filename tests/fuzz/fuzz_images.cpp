// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for descriptions of how a processor prepares pictures: see README.md.
#include <cstddef>
#include <cstdint>

#include "image_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::run_image(data, size);
  return 0;
}
