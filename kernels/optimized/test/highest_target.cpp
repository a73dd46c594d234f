// SPDX-License-Identifier: BSD-3-Clause
// EXECUTORCH_HIGHEST_TARGET=SSE2 ... AVX3 limits the tests to this target of Highway and older ones, so that one
// machine also tests what older processors run.
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// The bit of the target with Highway's name for it, among those that this machine has; 0 if it has no such target.
int64_t named_target(const char* name) {
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    if (std::strcmp(hwy::TargetName(target), name) == 0) {
      return target;
    }
  }
  return 0;
}

const bool is_held = [] {
  const char* const name = std::getenv("EXECUTORCH_HIGHEST_TARGET");
  if (name == nullptr) {
    return false;
  }
  const int64_t target = named_target(name);
  if (target == 0) {
    std::fprintf(stderr, "EXECUTORCH_HIGHEST_TARGET is %s, which this processor does not have; it has:", name);
    for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
      std::fprintf(stderr, " %s", hwy::TargetName(rest & -rest));
    }
    std::fputc('\n', stderr);
    std::exit(2);
  }
  // The newer of two targets has the lower bit.
  hwy::DisableTargets(target - 1);
  return true;
}();

}  // namespace
