// SPDX-License-Identifier: BSD-3-Clause
// GEMM with NEON and the dot products of Armv8.2.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR_DOTPROD
#define ET_LLM_DOTPROD 1
#include "kernels/llm/cpu/lowbit/multiply-inl.h"
#include "kernels/simd/arm_features.h"

const torch::executor::native::Multiplication torch::executor::native::kMultiplyNeonDotprod = {
    "neon-dotprod", [] { return simd::has_dotprod(); }, kBlockRows, 4, multiply_int8, nullptr};
#endif
