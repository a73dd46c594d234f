// SPDX-License-Identifier: BSD-3-Clause
// A lane of a vector is an output: each four bytes of activations are multiplied by those columns of the weights of 16
// outputs, so that nothing is summed across lanes and weights are read in sequence. With instructions
// that multiply matrices of bytes (i8mm), a vector of sums has two outputs of two rows.
//
// For the instruction set of HWY_TARGET. Each source file that includes this has its own copy.
#pragma once

#include "kernels/llm/cpu/lowbit/multiply_block-inl.h"
#include "kernels/llm/cpu/lowbit/multiply_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// Multiplication::runs for one of Highway's targets.
template <int64_t kTarget>
bool runs_on() {
  return (hwy::SupportedTargets() & kTarget) != 0;
}

void multiply_int8(const PackedWeights& w, const QuantizedRows& rows, int64_t begin, int64_t end, float* out) {
  constexpr decltype(&multiply_row_by<1>) kMultiply[] = {multiply_row_by<1>, multiply_row_by<2>, multiply_row_by<3>,
                                                         multiply_row_by<4>, multiply_row_by<5>, multiply_row_by<6>,
                                                         multiply_row_by<7>, multiply_row_by<8>};
  const auto multiply = kMultiply[w.bits - 1](w);
  auto blocks = w.bits < 8 ? multiply_blocks<OfOneRow<true>> : multiply_blocks<OfOneRow<false>>;
#if ET_LLM_I8MM
  if (rows.columns == OfTwoRows::kColumns) {
    blocks = multiply_blocks<OfTwoRows>;
  }
#endif
  for (int64_t tile = begin; tile < end; ++tile) {
    if (rows.interleave > 1) {
      blocks(w, rows, tile, out);
      continue;
    }
    for (int64_t row = 0; row < rows.rows; ++row) {
      multiply(w, rows, row, tile, out);
    }
  }
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
