// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of fuzz_xnnpack and fuzz_packed_weights without libFuzzer, with any compiler. Files named *.weights
// are inputs of fuzz_packed_weights. The arguments are those of replay_payloads(), and
//   replay_xnnpack --random COUNT               COUNT files of packed weights, the same ones every time
#include <string>
#include <vector>

#include "replay.h"
#include "xnnpack_driver.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--random") {
    executorch::fuzz::silence_logs();
    return executorch::fuzz::run_random(std::stoul(arguments[1]), 256, executorch::fuzz::run_packed_weights);
  }
  return executorch::fuzz::replay_payloads(arguments, "XH00", {".weights"}, [](const std::filesystem::path& file) {
    return file.extension() == ".weights" ? executorch::fuzz::run_packed_weights
                                          : executorch::fuzz::run_xnnpack_payload;
  });
}
