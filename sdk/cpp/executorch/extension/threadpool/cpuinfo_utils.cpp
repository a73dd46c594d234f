// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/cpuinfo_utils.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace executorch {
namespace extension {
namespace cpuinfo {

namespace {

#if defined(__linux__)
/// Highest frequency of a processor in kHz, or 0 if the system does not report it. Source:
/// Documentation/ABI/testing/sysfs-devices-system-cpu of Linux, cpufreq/cpuinfo_max_freq.
uint64_t max_frequency(int cpu) {
  char path[64];
  std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", cpu);
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) {
    return 0;
  }
  unsigned long long frequency = 0;
  const bool read = std::fscanf(file, "%llu", &frequency) == 1;
  std::fclose(file);
  return read ? frequency : 0;
}

uint32_t count_fast_processors() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) {
    return 0;
  }
  uint64_t frequencies[CPU_SETSIZE];
  uint32_t count = 0;
  uint64_t highest = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &usable)) {
      frequencies[count] = max_frequency(cpu);
      highest = std::max(highest, frequencies[count]);
      ++count;
    }
  }
  // The efficient cores of phones run at about 0.6 of the highest frequency, their big cores at 0.8 and more.
  return static_cast<uint32_t>(std::count_if(frequencies, frequencies + count, [highest](uint64_t frequency) {
    return frequency == 0 || frequency > highest / 4 * 3;
  }));
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
