// SPDX-License-Identifier: BSD-3-Clause
// Products by AVX-512 with VNNI.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR(HWY_AVX3_DL)
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3_DL
#include "kernels/llm/cpu/lowbit/multiply-inl.h"

namespace torch::executor::native {

extern const Multiplication kMultiplyAvx3Dl;
const Multiplication kMultiplyAvx3Dl = {"avx512-vnni", [] { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; },
                                        kBlockRows, multiply_int8, multiply_float};

}  // namespace torch::executor::native
#endif
