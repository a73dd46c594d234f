// SPDX-License-Identifier: BSD-3-Clause
// Runs the driver of fuzz_vulkan without libFuzzer, with any compiler; the arguments of replay_payloads(), and
//   replay_vulkan --fail-each-call FILE_OR_FOLDER...   each payload once for each call of Vulkan in it, which fails
#include <cstdio>
#include <string>
#include <vector>

#include "replay.h"
#include "vulkan_driver.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!executorch::fuzz::take_flag(arguments, "--fail-each-call")) {
    return executorch::fuzz::replay_payloads(arguments, "VH00", {},
                                             [](const auto&) { return executorch::fuzz::run_vulkan_payload; });
  }
  if (!executorch::fuzz::take_flag(arguments, "--verbose")) {
    executorch::fuzz::silence_logs();
  }
  size_t calls = 0;
  for (const auto& file : executorch::fuzz::find_files(arguments, {".pte", ".bpte", ".payload"})) {
    for (const auto& payload : executorch::fuzz::payloads_of(file, "VH00")) {
      calls += executorch::fuzz::fail_each_call(payload);
    }
  }
  std::printf("%zu calls failed\n", calls);
  return calls > 0 ? 0 : 1;
}
