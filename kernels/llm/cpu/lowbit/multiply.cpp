// SPDX-License-Identifier: BSD-3-Clause
// Chooses an instruction set, and lays out quantised activations for it.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#include "kernels/llm/cpu/lowbit/multiply.h"

#include <atomic>

namespace torch::executor::native {

const Multiplication* const kMultiplications[] = {
#if ET_LLM_COMPILES_FOR(HWY_AVX3_DL)
    &kMultiplyAvx3Dl,
#endif
#if ET_LLM_COMPILES_FOR(HWY_AVX3)
    &kMultiplyAvx3,
#endif
#if ET_LLM_COMPILES_FOR(HWY_AVX2)
    &kMultiplyAvx2,
#endif
#if ET_LLM_COMPILES_FOR_DOTPROD
    &kMultiplyNeonI8mm, &kMultiplyNeonDotprod,
#endif
    &kMultiplyBaseline, nullptr};

namespace {

// Up to this many rows are multiplied one by one, because a block would be mostly padding.
constexpr int64_t kSingleRows = 2;

std::atomic<const Multiplication*> chosen_multiplication{nullptr};

}  // namespace

// Reading a processor's features may take longer than a multiplication, so the result is cached. Threads that compute
// it at the same time get the same result.
const Multiplication& multiplication() {
  const Multiplication* chosen = chosen_multiplication.load(std::memory_order_relaxed);
  if (chosen == nullptr) {
    const Multiplication* const* at = kMultiplications;
    while (!(*at)->runs()) {  // the last one runs everywhere
      ++at;
    }
    chosen = *at;
    chosen_multiplication.store(chosen, std::memory_order_relaxed);
  }
  return *chosen;
}

static int64_t interleave_of(int64_t rows) {
  return rows <= kSingleRows ? 1 : multiplication().block_rows;
}

void choose_multiplication(const Multiplication* chosen) {
  chosen_multiplication.store(chosen, std::memory_order_relaxed);
}

int64_t quantized_bytes(const PackedWeights& weights, int64_t rows) {
  const int64_t interleave = interleave_of(rows);
  const int64_t padded = (rows + interleave - 1) / interleave * interleave;
  return padded * (weights.padded_columns() + weights.groups * 12 + 4);
}

QuantizedRows place_rows(const PackedWeights& weights, int64_t rows, void* memory) {
  QuantizedRows placed;
  placed.rows = rows;
  placed.interleave = interleave_of(rows);
  const int64_t columns = multiplication().block_columns;
  placed.columns = weights.group % columns == 0 ? columns : 4;
  const int64_t padded = placed.blocks() * placed.interleave;
  placed.scales = static_cast<float*>(memory);
  placed.scaled_sums = placed.scales + padded * weights.groups;
  placed.sums = reinterpret_cast<int32_t*>(placed.scaled_sums + padded * weights.groups);
  placed.offsets = reinterpret_cast<float*>(placed.sums + padded * weights.groups);
  placed.values = reinterpret_cast<int8_t*>(placed.offsets + padded);
  return placed;
}

void multiply_tiles(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  multiplication().tiles(weights, rows, begin, end, out);
}

void multiply_float_tiles(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                          float* out) {
  const auto tiles = multiplication().float_tiles;
  (tiles != nullptr ? tiles : kMultiplyBaseline.float_tiles)(weights, x, rows, begin, end, out);
}

}  // namespace torch::executor::native
