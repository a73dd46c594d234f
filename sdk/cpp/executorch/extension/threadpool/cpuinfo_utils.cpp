// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/cpuinfo_utils.h>

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>

#include "linux_processors.h"
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace executorch {
namespace extension {
namespace cpuinfo {

namespace {

#if defined(__linux__)
uint32_t count_fast_processors() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) {
    return 0;
  }
  int numbers[CPU_SETSIZE];
  size_t count = 0;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &usable)) {
      numbers[count++] = number;
    }
  }
  const uint32_t fast = internal::count_fast_processors(numbers, count, "");
  const uint32_t limit = internal::processors_of_control_group("");
  return limit == 0 ? fast : std::min(fast, limit);
}
#elif defined(__APPLE__)
uint32_t count_fast_processors() {
  int count = 0;
  size_t size = sizeof(count);
  return sysctlbyname("hw.perflevel0.logicalcpu", &count, &size, nullptr, 0) == 0 && count > 0
             ? static_cast<uint32_t>(count)
             : 0;
}
#else
uint32_t count_fast_processors() {
  return 0;
}
#endif

}  // namespace

uint32_t get_num_performant_cores() {
  const uint32_t fast = count_fast_processors();
  return std::max(fast != 0 ? fast : static_cast<uint32_t>(std::thread::hardware_concurrency()), 1u);
}

}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
