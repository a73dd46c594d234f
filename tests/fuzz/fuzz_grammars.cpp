// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for grammars of answers: see README.md.
#include <cstddef>
#include <cstdint>

#include "grammar_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::run_grammar(data, size);
  return 0;
}
