// SPDX-License-Identifier: BSD-3-Clause
// GEMM with AVX-512 and VNNI.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR(HWY_AVX3_DL)
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3_DL
#include "kernels/llm/cpu/lowbit/multiply-inl.h"
#include "kernels/llm/cpu/lowbit/multiply_float-inl.h"

const torch::executor::native::Multiplication torch::executor::native::kMultiplyAvx3Dl = {
    "avx512-vnni", runs_on<HWY_AVX3_DL>, kBlockRows, 4, multiply_int8, multiply_float};
#endif
