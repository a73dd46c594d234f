// SPDX-License-Identifier: BSD-3-Clause
#if defined(__linux__)
#include "linux_processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace executorch {
namespace extension {
namespace cpuinfo {
namespace internal {
namespace {

constexpr size_t kPathSize = 512;

/// Opens `root` + `folder` + `name`; null if there is no such file, or its path is too long.
std::FILE* open_file(const char* root, const char* folder, const char* name) {
  char path[kPathSize];
  const int size = std::snprintf(path, sizeof(path), "%s%s%s", root, folder, name);
  return size > 0 && static_cast<size_t>(size) < sizeof(path) ? std::fopen(path, "r") : nullptr;
}

/// Returns the first number in a file; -1 if the file does not begin with a number.
long long number_in(std::FILE* file) {
  long long number = -1;
  if (file != nullptr) {
    if (std::fscanf(file, "%lld", &number) != 1) {
      number = -1;
    }
    std::fclose(file);
  }
  return number;
}

/// Highest frequency of a processor in kHz, or 0 if the system does not report it. Source:
/// Documentation/ABI/testing/sysfs-devices-system-cpu of Linux, cpufreq/cpuinfo_max_freq.
long long max_frequency(const char* root, int number) {
  char name[80];
  std::snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", number);
  return std::max(number_in(open_file(root, name, "")), 0LL);
}

// --- Microarchitectures of Arm ---------------------------------------------------------------------------------------

enum class Execution : uint8_t { kUnknown, kInOrder, kOutOfOrder };

/// Looks up the fields implementer and part of the processor's main identification register (MIDR_EL1). Their values
/// are in each core's technical reference manual.
Execution execution_of(unsigned implementer, unsigned part) {
  constexpr unsigned kArm = 0x41, kQualcomm = 0x51;
  constexpr unsigned kArmInOrder[] = {0xc05, 0xc07, 0xd01, 0xd02, 0xd03, 0xd04, 0xd05, 0xd46, 0xd80, 0xd8f};
  // Kryo Silver of the generations 2, 3 and 4: Cortex-A53 and A55 under Qualcomm's numbers.
  constexpr unsigned kQualcommInOrder[] = {0x801, 0x803, 0x805};
  const auto has = [part](const auto& parts) {
    return std::find(std::begin(parts), std::end(parts), part) != std::end(parts);
  };
  const bool is_in_order =
      (implementer == kArm && has(kArmInOrder)) || (implementer == kQualcomm && has(kQualcommInOrder));
  return is_in_order ? Execution::kInOrder : Execution::kOutOfOrder;
}

/// Reads /proc/cpuinfo into executions[number of the processor]. On other architectures than Arm it has no such lines.
void read_executions(const char* root, Execution (&executions)[CPU_SETSIZE]) {
  std::fill(std::begin(executions), std::end(executions), Execution::kUnknown);
  std::FILE* const file = open_file(root, "/proc/cpuinfo", "");
  if (file == nullptr) {
    return;
  }
  char line[kPathSize];
  int number = -1;
  unsigned implementer = 0, part = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "processor : %d", &number) == 1) {
      implementer = 0;
    } else if (std::sscanf(line, "CPU implementer : %x", &implementer) != 1 &&
               std::sscanf(line, "CPU part : %x", &part) == 1 && number >= 0 && number < CPU_SETSIZE) {
      executions[number] = execution_of(implementer, part);
    }
  }
  std::fclose(file);
}

// --- Control groups --------------------------------------------------------------------------------------------------

uint32_t processors_of(long long quota, long long period) {
  constexpr long long kMost = 1 << 20;
  return quota <= 0 || period <= 0 ? 0 : static_cast<uint32_t>(std::min((quota - 1) / period + 1, kMost));
}

/// The limit of one group as a number of processors: microseconds of quota by period. Source: "CPU" in
/// Documentation/admin-guide/cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst of Linux.
uint32_t limit_of_group(const char* root, bool is_version_2, const char* group) {
  char folder[kPathSize];
  std::snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s%s", is_version_2 ? "" : "/cpu", group);
  if (!is_version_2) {
    return processors_of(number_in(open_file(root, folder, "/cpu.cfs_quota_us")),
                         number_in(open_file(root, folder, "/cpu.cfs_period_us")));
  }
  std::FILE* const file = open_file(root, folder, "/cpu.max");
  long long quota = 0, period = 0;
  if (file != nullptr) {
    if (std::fscanf(file, "%lld %lld", &quota, &period) != 2) {  // "max 100000" without a limit
      quota = 0;
    }
    std::fclose(file);
  }
  return processors_of(quota, period);
}

/// Whether a list of controllers, such as "cpu,cpuacct", contains the controller "cpu".
bool limits_processors(const char* controllers) {
  for (const char* at = controllers; at != nullptr; at = std::strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (std::strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0')) {
      return true;
    }
  }
  return false;
}

}  // namespace

uint32_t count_fast_processors(const int* numbers, size_t count, const char* root) {
  Execution executions[CPU_SETSIZE];
  read_executions(root, executions);
  const auto execution = [&executions](int number) {
    return number >= 0 && number < CPU_SETSIZE ? executions[number] : Execution::kUnknown;
  };
  const auto count_of = [&](Execution wanted) {
    return std::count_if(numbers, numbers + count, [&](int number) { return execution(number) == wanted; });
  };
  const auto in_order = count_of(Execution::kInOrder), out_of_order = count_of(Execution::kOutOfOrder);
  if (in_order > 0 && out_of_order > 0) {
    return static_cast<uint32_t>(static_cast<long long>(count) - in_order);
  }
  long long highest = 0;
  for (size_t i = 0; i < count; ++i) {
    highest = std::max(highest, max_frequency(root, numbers[i]));
  }
  // The efficient cores of phones run at about 0.6 of the highest frequency, their big cores at 0.8 and more.
  return static_cast<uint32_t>(std::count_if(numbers, numbers + count, [&](int number) {
    const long long frequency = max_frequency(root, number);
    return frequency == 0 || frequency > highest / 4 * 3;
  }));
}

uint32_t processors_of_control_group(const char* root) {
  std::FILE* const file = open_file(root, "/proc/self/cgroup", "");
  if (file == nullptr) {
    return 0;
  }
  uint32_t least = 0;
  char line[kPathSize];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    // "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1.
    char* const controllers = std::strchr(line, ':');
    char* const group = controllers != nullptr ? std::strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) {
      continue;
    }
    *group = '\0';
    const bool is_version_2 = group == controllers + 1;
    if (!is_version_2 && !limits_processors(controllers + 1)) {
      continue;
    }
    // The limits of all groups around it hold too.
    for (char* const path = group + 1;;) {
      const uint32_t limit = limit_of_group(root, is_version_2, std::strcmp(path, "/") == 0 ? "" : path);
      least = limit != 0 && (least == 0 || limit < least) ? limit : least;
      char* const last = std::strrchr(path, '/');
      if (last == nullptr || path[0] == '\0') {
        break;
      }
      *last = '\0';
    }
  }
  std::fclose(file);
  return least;
}

}  // namespace internal
}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
#endif
