// SPDX-License-Identifier: BSD-3-Clause
// The cost of a run on several threads, wall time and the CPU time of all threads:
//
//     run_cost model.pte threads seconds
//
// Executes the method "forward" on zeros for `seconds`, after warming up for a tenth of it, and prints the medians of a
// run's wall time and CPU time, in milliseconds. CPU time well above the wall time of one thread is time that threads
// spin. To compare two builds, run them in turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/platform/runtime.h>

#include "zeros.h"

namespace {

double seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double>& samples) {
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  using executorch::extension::module::Module;
  using executorch::runtime::Error;
  const long threads = argc == 4 ? std::strtol(argv[2], nullptr, 10) : 0;
  const double duration = argc == 4 ? std::strtod(argv[3], nullptr) : 0;
  if (threads < 1 || duration <= 0) {
    std::fprintf(stderr, "usage: run_cost model.pte threads seconds\n");
    return 1;
  }
  executorch::runtime::runtime_init();
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(static_cast<uint32_t>(threads));
  Module module(argv[1], Module::LoadMode::Mmap);
  const auto meta = module.method_meta("forward");
  executorch::bench::Zeros inputs;
  if (!meta.ok() || !inputs.make(*meta)) {
    return 1;
  }
  std::vector<double> wall, cpu;
  const double start = seconds(CLOCK_MONOTONIC);
  for (double now = start; now - start < duration * 1.1; now = seconds(CLOCK_MONOTONIC)) {
    const double cpu_before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!module.forward(inputs.values).ok()) {
      std::fprintf(stderr, "%s cannot be executed on zeros\n", argv[1]);
      return 1;
    }
    if (now - start >= duration * 0.1) {
      wall.push_back((seconds(CLOCK_MONOTONIC) - now) * 1e3);
      cpu.push_back((seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before) * 1e3);
    }
  }
  if (wall.empty()) {
    std::fprintf(stderr, "a run takes longer than %g s\n", duration * 0.1);
    return 1;
  }
  std::printf("%.4f %.4f\n", median(wall), median(cpu));
  return 0;
}
