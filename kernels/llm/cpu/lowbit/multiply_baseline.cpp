// SPDX-License-Identifier: BSD-3-Clause
// GEMM with the baseline instruction set of the build.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#include "kernels/llm/cpu/lowbit/multiply-inl.h"
#include "kernels/llm/cpu/lowbit/multiply_float-inl.h"

const torch::executor::native::Multiplication torch::executor::native::kMultiplyBaseline = {
    "baseline", [] { return true; }, kBlockRows, 4, multiply_int8, multiply_float};
