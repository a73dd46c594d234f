// SPDX-License-Identifier: BSD-3-Clause
// GEMM with AVX2.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR(HWY_AVX2)
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include "kernels/llm/cpu/lowbit/multiply-inl.h"
#include "kernels/llm/cpu/lowbit/multiply_float-inl.h"

const torch::executor::native::Multiplication torch::executor::native::kMultiplyAvx2 = {
    "avx2", runs_on<HWY_AVX2>, kBlockRows, 4, multiply_int8, multiply_float};
#endif
