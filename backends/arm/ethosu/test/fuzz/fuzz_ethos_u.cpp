// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads of delegates for an Ethos-U, see README.md.
#include <cstddef>
#include <cstdint>

#include "ethos_u_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::run_ethos_u_payload(data, size);
  return 0;
}
