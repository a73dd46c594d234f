// SPDX-License-Identifier: BSD-3-Clause
// llm_low_bit_cost SET TYPE ROWS CALLS N K ...: multiplies ROWS rows of activations by weights of (N, K), for each N
// and K, CALLS times. SET: the name of an instruction set; `best` is the processor's default. TYPE: a type of ggml.
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

// Bits, and groups of 32 weights, of a type.
struct Type {
  const char* name;
  int bits;
  bool minima;
  int64_t block_groups;  // with factors
};
constexpr Type kTypes[] = {{"Q4_0", 4, false, 0}, {"Q4_1", 4, true, 0}, {"Q8_0", 8, false, 0}, {"Q4_K", 4, true, 8}};

const Type* type_of(const char* name) {
  for (const Type& type : kTypes) {
    if (std::strcmp(type.name, name) == 0) {
      return &type;
    }
  }
  return nullptr;
}

void multiply(const Type& type, int64_t rows, int calls, int64_t n, int64_t k) {
  PackedWeights weights{};
  weights.bits = type.bits;
  weights.has_minima = type.minima;
  weights.block_factors = type.block_groups > 0;
  weights.signed_bytes = type.bits == 8;
  weights.zero_point = type.minima ? 0 : 1 << (type.bits - 1);
  weights.group = 32;
  weights.rows = n;
  weights.columns = k;
  weights.groups = (k + 31) / 32;
  weights.block_groups = weights.block_factors ? type.block_groups : weights.groups;
  weights.tiles = (n + kTileOutputs - 1) / kTileOutputs;
  const int64_t parameters = type.minima ? 2 : 1;
  weights.scale_bytes = kTileOutputs * (weights.block_factors ? 1 : 2);
  weights.factor_bytes = weights.block_factors ? kTileOutputs * 2 * parameters : 0;
  weights.group_bytes = weights.scale_bytes * parameters + kTileOutputs * 32 * type.bits / 8;
  weights.tile_bytes = weights.groups * weights.group_bytes + weights.blocks() * weights.factor_bytes;
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
  const Type* type = argc > 2 ? type_of(argv[2]) : nullptr;
  if (argc < 7 || argc % 2 != 1 || type == nullptr || !choose(argv[1])) {
    std::fprintf(stderr,
                 "usage: llm_low_bit_cost SET TYPE ROWS CALLS N K ...; TYPE is Q4_0, Q4_1, Q8_0 or Q4_K, SET is `best` "
                 "or what this processor has of:\n");
    for (const Multiplication* const* set = kMultiplications; *set != nullptr; ++set) {
      std::fprintf(stderr, "  %s\n", (*set)->name);
    }
    return 2;
  }
  for (int i = 5; i < argc; i += 2) {
    multiply(*type, std::atoll(argv[3]), std::atoi(argv[4]), std::atoll(argv[i]), std::atoll(argv[i + 1]));
  }
  return 0;
}
