// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for single kernels: see README.md.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernel_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (executorch::fuzz::known_kernels() == 0) {
    std::abort();  // a build without log messages
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::call_kernel(data, size);
  return 0;
}
