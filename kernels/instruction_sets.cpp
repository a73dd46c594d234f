// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/instruction_sets.h"

#ifdef ET_HAS_KERNELS_OPTIMIZED
#include "hwy/highway.h"
#endif
#ifdef ET_HAS_KERNELS_LLM
#include "kernels/llm/cpu/lowbit/multiply.h"
#endif

namespace executorch::kernels {

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
#ifdef ET_HAS_KERNELS_OPTIMIZED
  // Better targets have lower bits. The baseline target always runs.
  const int64_t runs = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  sets.push_back({"optimized", hwy::TargetName(runs & -runs)});
#endif
#ifdef ET_HAS_KERNELS_LLM
  sets.push_back({"low bits", torch::executor::native::multiplication().name});
#endif
  return sets;
}

}  // namespace executorch::kernels
