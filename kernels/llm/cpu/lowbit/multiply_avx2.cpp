// SPDX-License-Identifier: BSD-3-Clause
// Products by AVX2.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR(HWY_AVX2)
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include "kernels/llm/cpu/lowbit/multiply-inl.h"

namespace torch::executor::native {

extern const Multiplication kMultiplyAvx2;
const Multiplication kMultiplyAvx2 = {"avx2", [] { return (hwy::SupportedTargets() & HWY_AVX2) != 0; }, kBlockRows,
                                      multiply_int8, multiply_float};

}  // namespace torch::executor::native
#endif
