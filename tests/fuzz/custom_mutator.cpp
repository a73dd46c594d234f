// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer's hook, for targets that only change numbers in place.
#include "mutate_in_place.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return executorch::fuzz::mutate_in_place(data, size, max_size, seed);
}
