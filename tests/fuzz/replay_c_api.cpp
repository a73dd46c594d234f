// SPDX-License-Identifier: BSD-3-Clause
// Runs the driver of fuzz_c_api without libFuzzer, with any compiler:
//   replay_c_api FILE...         every file once
//   replay_c_api --random COUNT  COUNT series of random calls, the same ones every time
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <executorch/extension/c_api/executorch.h>

#include "c_api_driver.h"
#include "share.h"

int main(int argc, char** argv) {
  const et_log_sink drop = [](et_log_level, const char*, size_t, const char*, void*) {};
  (void)et_set_log_sink(drop, nullptr, ET_LOG_LEVEL_FATAL, nullptr);
  size_t runs = 0;
  size_t series = 0;
  if (argc == 3 && std::strcmp(argv[1], "--random") == 0) {
    std::mt19937 random(20240229);
    for (series = 0; series < std::strtoul(argv[2], nullptr, 10); ++series) {
      std::vector<uint8_t> bytes(2048);
      for (uint8_t& byte : bytes) {
        byte = static_cast<uint8_t>(random());
      }
      if (executorch::tests::in_share(series)) {
        runs += executorch::fuzz::run_c_api(bytes.data(), bytes.size());
      }
    }
  } else {
    for (int i = 1; i < argc; ++i, ++series) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
      runs += executorch::fuzz::run_c_api(bytes.data(), bytes.size());
    }
  }
  std::printf("%zu series of calls, %zu runs\n", series, runs);
  // If no method ever ran, the test would show nothing.
  return series == 0 || (argc == 3 && runs == 0) ? 1 : 0;
}
