// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * For tests: XNNPACK as it would choose its kernels on another processor.
 */
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace executorch {
namespace backends {
namespace xnnpack {

/// A processor that this machine can emulate: its newest instructions, the core that XNNPACK detects, and whether our
/// kernels replace XNNPACK's.
struct Processor {
  std::string name;
  size_t features;  // how many of the table in processors.cpp it has
  int core;         // cpuinfo_uarch, or 0 for this machine's
  bool has_our_kernels;
};

/// Whether EXECUTORCH_SWEEP=all in the environment requests all sizes; otherwise sweeps run a representative part.
bool sweeps_all();

/// This machine first, then each older instruction set that it has and each core for which XNNPACK has separate
/// kernels, with XNNPACK's kernels alone and with ours; on Arm only if sweeps_all(). Empty if XNNPACK cannot run.
std::vector<Processor> processors();

/// Runs `sweep` once for each of processors(), in a separate process whose XNNPACK is initialised for it, and expects
/// that no expectation fails there and that the process ends.
/// @param only_with_our_kernels Whether processors with XNNPACK's kernels alone are left out.
void expect_on_each_processor(const std::function<void()>& sweep, bool only_with_our_kernels = false);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
