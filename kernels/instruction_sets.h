// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets that kernels with run-time dispatch use on this processor.
#pragma once

#include <string>
#include <vector>

namespace executorch::kernels {

struct InstructionSet {
  std::string kernels;       ///< the kind of kernels: "optimized", "low bits"
  std::string instructions;  ///< the best set that they are compiled for and that the processor has
};

/// Returns one for each kind of kernels in this build; empty if the build has only portable kernels. Backends choose
/// their kernels themselves.
std::vector<InstructionSet> instruction_sets();

}  // namespace executorch::kernels
