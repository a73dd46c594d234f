// SPDX-License-Identifier: BSD-3-Clause
// llm_low_bit_cost SET ROWS CALLS N K ...: multiplies ROWS rows of activations by weights of 4 bits in groups of 32
// with minima (ggml's Q4_1) of (N, K), for each N and K, CALLS times. SET: the name of an instruction set; `best` is
// what the processor gets.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/llm/cpu/lowbit/multiply.h"

using namespace torch::executor::native;

namespace {

bool choose(const char* name) {
  for (const Multiplication* const* set = kMultiplications; *set != nullptr; ++set) {
    if (std::strcmp((*set)->name, name) == 0 && (*set)->runs()) {
      choose_multiplication(*set);
      return true;
    }
  }
  return std::strcmp(name, "best") == 0;
}

void multiply(int64_t rows, int calls, int64_t n, int64_t k) {
  PackedWeights weights{};
  weights.bits = 4;
  weights.has_minima = true;
  weights.group = 32;
  weights.rows = n;
  weights.columns = k;
  weights.groups = weights.block_groups = (k + 31) / 32;
  weights.tiles = (n + kTileOutputs - 1) / kTileOutputs;
  weights.scale_bytes = kTileOutputs * 2;
  weights.group_bytes = weights.scale_bytes * 2 + kTileOutputs * 32 / 2;
  weights.tile_bytes = weights.groups * weights.group_bytes;
  const std::vector<uint8_t> data(static_cast<size_t>(weights.tiles * weights.tile_bytes), 0x31);  // 0x3131 is 0.16
  weights.data = data.data();
  std::vector<float> x(static_cast<size_t>(rows * k)), out(static_cast<size_t>(rows * n));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 17) - 8.0f;
  }
  std::vector<float> memory(static_cast<size_t>(quantized_bytes(weights, rows) + 3) / 4);
  for (int call = 0; call < calls; ++call) {
    const QuantizedRows quantized = place_rows(weights, rows, memory.data());
    quantize_blocks(weights, x.data(), 0, quantized.blocks(), quantized);
    multiply_tiles(weights, quantized, 0, weights.tiles, out.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6 || argc % 2 != 0 || !choose(argv[1])) {
    std::fprintf(stderr,
                 "usage: llm_low_bit_cost SET ROWS CALLS N K ...; SET is `best` or what this processor has of:\n");
    for (const Multiplication* const* set = kMultiplications; *set != nullptr; ++set) {
      std::fprintf(stderr, "  %s\n", (*set)->name);
    }
    return 2;
  }
  for (int i = 4; i < argc; i += 2) {
    multiply(std::atoll(argv[2]), std::atoi(argv[3]), std::atoll(argv[i]), std::atoll(argv[i + 1]));
  }
  return 0;
}
