// SPDX-License-Identifier: BSD-3-Clause
// GEMM with NEON, the int8 matrix multiplications of Armv8.6, and dot products.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR_DOTPROD
#define ET_LLM_DOTPROD 1
#define ET_LLM_I8MM 1
#include "kernels/llm/cpu/lowbit/multiply-inl.h"
#include "kernels/simd/arm_features.h"

const torch::executor::native::Multiplication torch::executor::native::kMultiplyNeonI8mm = {
    "neon-i8mm", [] { return simd::has_dotprod() && simd::has_i8mm(); }, kBlockRows, OfTwoRows::kColumns, multiply_int8,
    nullptr};
#endif
