// SPDX-License-Identifier: BSD-3-Clause
// replay_tokenizers FILE... | --random COUNT: inputs of fuzz_tokenizers, or tokenizers of random decisions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "program_driver.h"
#include "share.h"
#include "tokenizer_driver.h"

int main(int argc, char** argv) {
  executorch::fuzz::silence_logs();
  if (argc == 3 && std::strcmp(argv[1], "--random") == 0) {
    std::mt19937 random(1);  // the same ones each time
    const long count = std::atol(argv[2]);
    for (long i = 0; i < count; i++) {
      std::vector<uint8_t> input(400);
      for (uint8_t& byte : input) {
        byte = static_cast<uint8_t>(random());
      }
      input[0] = 5;  // of the grammar
      if (executorch::tests::in_share(static_cast<size_t>(i))) {
        executorch::fuzz::run_tokenizer(input.data(), input.size());
      }
    }
    return 0;
  }
  for (int i = 1; i < argc; i++) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    std::printf("%s\n", argv[i]);
    executorch::fuzz::run_tokenizer(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
