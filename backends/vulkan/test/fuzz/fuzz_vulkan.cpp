// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads of Vulkan delegates, see README.md.
#include "mutate_in_place.h"
#include "vulkan_driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::fuzz::silence_logs();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  executorch::fuzz::run_vulkan_payload(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  // Most mutations change the graph. If there is no graph, or it would be too large, they change numbers.
  const size_t changed = seed % 4 == 0 ? 0 : executorch::fuzz::mutate_vulkan_graph(data, size, max_size, seed / 4);
  return changed > 0 ? changed : executorch::fuzz::mutate_in_place(data, size, max_size, seed);
}
