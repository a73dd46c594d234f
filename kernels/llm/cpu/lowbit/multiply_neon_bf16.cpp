// SPDX-License-Identifier: BSD-3-Clause
// Products by NEON with the dot products of Armv8.6.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#if ET_LLM_COMPILES_FOR(HWY_NEON_BF16)
#undef HWY_TARGET
#define HWY_TARGET HWY_NEON_BF16
#include "kernels/llm/cpu/lowbit/multiply-inl.h"

namespace torch::executor::native {

extern const Multiplication kMultiplyNeonBf16;
const Multiplication kMultiplyNeonBf16 = {"neon-bf16", [] { return (hwy::SupportedTargets() & HWY_NEON_BF16) != 0; },
                                          kBlockRows, multiply_int8, multiply_float};

}  // namespace torch::executor::native
#endif
