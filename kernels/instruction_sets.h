// SPDX-License-Identifier: BSD-3-Clause
// Which instructions of this processor the kernels use that are compiled for several.
#pragma once

#include <string>
#include <vector>

namespace executorch::kernels {

struct InstructionSet {
  std::string kernels;       ///< what is computed: "optimized", "low bits"
  std::string instructions;  ///< the best set that these are compiled for and that the processor has
};

/// One for each kind of kernels that this build has; none if it has only portable ones. Backends choose for themselves.
std::vector<InstructionSet> instruction_sets();

}  // namespace executorch::kernels
