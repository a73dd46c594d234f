// SPDX-License-Identifier: BSD-3-Clause
// Runs the driver of fuzz_kernels without libFuzzer, with any compiler:
//   replay_kernels FILE...         every file once, naming its kernel
//   replay_kernels --random COUNT  COUNT random calls of every kernel, the same ones every time
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "kernel_driver.h"
#include "share.h"

int main(int argc, char** argv) {
  const size_t kernels = executorch::fuzz::known_kernels();
  if (kernels == 0) {
    std::printf("the kernels' arguments are not known: this build has no log messages\n");
    return 77;
  }
  for (const char* name : executorch::fuzz::unreachable_kernels()) {
    std::fprintf(stderr, "no call reaches %s: its arguments are not known\n", name);
  }
  size_t calls = 0, successes = 0;
  if (argc == 3 && std::strcmp(argv[1], "--random") == 0) {
    std::mt19937 random(20240229);
    const size_t count = std::strtoul(argv[2], nullptr, 10);
    for (size_t kernel = 0; kernel < kernels; ++kernel) {
      const size_t before = successes;
      for (size_t i = 0; i < count; ++i, ++calls) {
        std::vector<uint8_t> bytes(256);
        for (uint8_t& byte : bytes) {
          byte = static_cast<uint8_t>(random());
        }
        bytes[0] = static_cast<uint8_t>(kernel / 256);
        bytes[1] = static_cast<uint8_t>(kernel % 256);
        if (executorch::tests::in_share(i)) {
          successes += executorch::fuzz::call_kernel(bytes.data(), bytes.size()) ? 1 : 0;
        }
      }
      if (successes == before) {
        std::printf("no call of %s succeeds\n", executorch::fuzz::kernel_name(kernel));
      }
    }
  } else {
    executorch::fuzz::name_kernels();
    for (int i = 1; i < argc; ++i, ++calls) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
      successes += executorch::fuzz::call_kernel(bytes.data(), bytes.size()) ? 1 : 0;
    }
  }
  std::printf("%zu kernels, %zu calls, %zu successes\n", kernels, calls, successes);
  // If no call succeeded, the test would show nothing.
  const bool is_complete = executorch::fuzz::unreachable_kernels().empty();
  return calls == 0 || !is_complete || (argc == 3 && successes == 0) ? 1 : 0;
}
