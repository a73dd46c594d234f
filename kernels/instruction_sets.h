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

/// Returns one for each kind of kernels in this build; empty if the build has only portable kernels. Backends choose
/// their kernels themselves.
std::vector<InstructionSet> instruction_sets();

}  // namespace executorch::kernels
