// SPDX-License-Identifier: BSD-3-Clause
// Products by the instructions for which everything is compiled.
#include "kernels/llm/cpu/lowbit/targets.h"  // before Highway

#include "kernels/llm/cpu/lowbit/multiply-inl.h"

namespace torch::executor::native {

extern const Multiplication kMultiplyBaseline;
const Multiplication kMultiplyBaseline = {"baseline", [] { return true; }, kBlockRows, multiply_int8, multiply_float};

}  // namespace torch::executor::native
