// SPDX-License-Identifier: BSD-3-Clause
#include "processors.h"

#include <cpuinfo.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xnnpack.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernels/depthwise.h"
#include "kernels/exact_functions.h"
#include "kernels/exact_windows.h"
#include "kernels/neon_products.h"
#include "kernels/products.h"
#include "kernels/row_products.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Feature {
  const char* name;
  bool xnn_hardware_config::* is_used;
  uint64_t flag;
};

#define FEATURE(arch, name)                                                    \
  Feature {                                                                    \
    #name, &xnn_hardware_config::use_##arch##_##name, xnn_arch_##arch##_##name \
  }

/// From old to new: a processor with one of these features has all before it.
const std::vector<Feature>& features() {
  static const std::vector<Feature> all = {
#if XNN_ARCH_X86_64
      FEATURE(x86, ssse3),          FEATURE(x86, sse4_1),         FEATURE(x86, avx),        FEATURE(x86, f16c),
      FEATURE(x86, fma3),           FEATURE(x86, avx2),           FEATURE(x86, avx512f),    FEATURE(x86, avx512skx),
      FEATURE(x86, avx256skx),      FEATURE(x86, avx512vbmi),     FEATURE(x86, avx512vnni), FEATURE(x86, avx256vnni),
      FEATURE(x86, avx512vnnigfni), FEATURE(x86, avx256vnnigfni), FEATURE(x86, avxvnni),    FEATURE(x86, avxvnniint8),
      FEATURE(x86, avx512amx),      FEATURE(x86, avx512fp16),
#elif XNN_ARCH_ARM64
      FEATURE(arm, neon_fma),  FEATURE(arm, neon_v8),  FEATURE(arm, fp16_arith), FEATURE(arm, neon_fp16_arith),
      FEATURE(arm, neon_bf16), FEATURE(arm, neon_dot), FEATURE(arm, neon_i8mm),
#endif
  };
  return all;
}

/// Cores for which XNNPACK has separate kernels, and one other core.
struct Core {
  const char* name;
  int core;
  std::string_view newest = {};  // the newest feature of such cores, if newer ones would select other kernels
  /// How many of features() this machine can use as such a core.
  size_t feature_count() const {
    size_t count = 0;
    while (count < features().size() && (count == 0 || newest != features()[count - 1].name)) {
      ++count;
    }
    return count;
  }
};
const std::vector<Core>& cores() {
  static const std::vector<Core> all = {
#if XNN_ARCH_X86_64
      {"zen4", cpuinfo_uarch_zen4},
      {"sunny_cove", cpuinfo_uarch_sunny_cove},
      {"zen", cpuinfo_uarch_zen, "avx2"},
#elif XNN_ARCH_ARM64
      {"cortex_a35", cpuinfo_uarch_cortex_a35},     {"cortex_a53", cpuinfo_uarch_cortex_a53},
      {"cortex_a55r0", cpuinfo_uarch_cortex_a55r0}, {"cortex_a55", cpuinfo_uarch_cortex_a55},
      {"cortex_a57", cpuinfo_uarch_cortex_a57},     {"cortex_a72", cpuinfo_uarch_cortex_a72},
      {"cortex_a73", cpuinfo_uarch_cortex_a73},     {"cortex_a75", cpuinfo_uarch_cortex_a75},
      {"cortex_a76", cpuinfo_uarch_cortex_a76},     {"cortex_x1", cpuinfo_uarch_cortex_x1},
      {"cortex_a510", cpuinfo_uarch_cortex_a510},   {"neoverse_n2", cpuinfo_uarch_neoverse_n2},
      {"exynos_m1", cpuinfo_uarch_exynos_m1},       {"exynos_m3", cpuinfo_uarch_exynos_m3},
      {"exynos_m5", cpuinfo_uarch_exynos_m5},       {"kryo", cpuinfo_uarch_kryo},
#endif
  };
  return all;
}

/// XNNPACK's description of the processor, which its choices of kernels read; null if XNNPACK does not run here.
xnn_hardware_config* hardware() {
  return const_cast<xnn_hardware_config*>(xnn_init_hardware_config());
}

void become(const Processor& processor) {
  xnn_hardware_config* const config = hardware();
  for (size_t i = processor.features; i < features().size(); ++i) {
    config->*features()[i].is_used = false;
    config->arch_flags &= ~features()[i].flag;
  }
  if (processor.core != 0) {
    const_cast<cpuinfo_core*>(cpuinfo_get_core(0))->uarch = static_cast<cpuinfo_uarch>(processor.core);
  }
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  if (processor.has_our_kernels) {
    use_tall_products();
    use_row_products();
    use_neon_products();
    use_integer_products();
    use_depthwise();
    use_exact_windows();
    use_exact_functions();
  }
}

/// False if an expectation failed or the process crashed.
bool run_on(const Processor& processor, const std::function<void()>& sweep) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    become(processor);
    if (!::testing::Test::HasFatalFailure()) {
      sweep();
    }
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool sweeps_all() {
  const char* const wanted = std::getenv("EXECUTORCH_SWEEP");
  return wanted != nullptr && std::strcmp(wanted, "all") == 0;
}

std::vector<Processor> processors() {
  const xnn_hardware_config* const config = hardware();
  if (config == nullptr) {
    return {};
  }
  const size_t count = features().size();
  std::vector<Processor> found = {{"this", count, 0, true}};
#if XNN_ARCH_X86_64
  found.push_back({"this_without_our_kernels", count, 0, false});
#else
  if (!sweeps_all()) {
    return found;  // an emulator is slow, and is itself started for several processors
  }
#endif
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && !(config->*features()[i - 1].is_used)) {
      continue;  // the same as the previous one
    }
    const std::string name = i == 0 ? "baseline" : features()[i - 1].name;
    found.push_back({name, i, 0, false});
#if XNN_ARCH_X86_64
    found.push_back({name + "_with_our_kernels", i, 0, true});
#endif
  }
  for (const Core& core : cores()) {
    found.push_back({core.name, core.feature_count(), core.core, false});
#if XNN_ARCH_ARM64
    found.push_back(
        {std::string(core.name) + "_baseline", 2, core.core, false});  // dot product kernels would be chosen first
#endif
  }
  return found;
}

void expect_on_each_processor(const std::function<void()>& sweep, bool only_with_our_kernels) {
  // Report failures at the end: a child process would begin with those of its parent.
  std::vector<std::string> failed;
  for (const Processor& processor : processors()) {
    if ((processor.has_our_kernels || !only_with_our_kernels) && !run_on(processor, sweep)) {
      failed.push_back(processor.name);
    }
  }
  EXPECT_EQ(failed, std::vector<std::string>());
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
