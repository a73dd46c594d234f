// SPDX-License-Identifier: BSD-3-Clause
#if defined(__linux__)
#include "linux_processors.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

using executorch::extension::cpuinfo::internal::count_fast_processors;
using executorch::extension::cpuinfo::internal::processors_of_control_group;

namespace {

struct Cluster {
  int count;
  int frequency;  // kHz
  unsigned implementer, part;
};

struct Phone {
  const char* name;
  std::vector<Cluster> clusters;  // in the order of the processors' numbers
  uint32_t fast;
};

// Numbers, frequencies and identifications of phones as the mocks of cpuinfo's tests record them. The makers' names say
// which cores are fast: big and LITTLE, Gold and Silver.
const std::vector<Phone> kPhones = {
    {"Galaxy S6, Exynos 7420", {{4, 1500000, 0x41, 0xd03}, {4, 2100000, 0x41, 0xd07}}, 4},
    {"Nexus 5X, Snapdragon 808", {{4, 1440000, 0x41, 0xd03}, {2, 1824000, 0x41, 0xd07}}, 2},
    {"Pixel XL, Snapdragon 821", {{2, 1593600, 0x51, 0x201}, {2, 2150400, 0x51, 0x205}}, 2},
    {"Meizu Pro 6, Helio X25", {{4, 1547000, 0x41, 0xd03}, {4, 2002000, 0x41, 0xd03}, {2, 2522000, 0x41, 0xd08}}, 2},
    {"Galaxy J7 Prime, Exynos 7870", {{8, 1586000, 0x41, 0xd03}}, 8},
    {"Mate 9, Kirin 960", {{4, 1844000, 0x41, 0xd03}, {4, 2362000, 0x41, 0xd09}}, 4},
    {"Galaxy S8, Snapdragon 835", {{4, 1900800, 0x51, 0x801}, {4, 2361600, 0x51, 0x800}}, 4},
    {"Galaxy S8, Exynos 8895", {{4, 1690000, 0x41, 0xd03}, {4, 2314000, 0x53, 0x001}}, 4},
    {"Galaxy A8, Exynos 7885", {{6, 1586000, 0x41, 0xd03}, {2, 2184000, 0x41, 0xd09}}, 2},
    {"Galaxy S9, Snapdragon 845", {{4, 1766400, 0x51, 0x803}, {4, 2803200, 0x51, 0x802}}, 4},
    {"Mate 20, Kirin 980", {{4, 1805000, 0x41, 0xd05}, {2, 1901000, 0x48, 0xd40}, {2, 2600000, 0x48, 0xd40}}, 4},
};

/// A folder in which `proc` and `sys` are written.
class LinuxProcessorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "processors-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  void write(const Phone& phone, bool has_parts, bool has_frequencies) const {
    std::string cpuinfo = "Processor\t: AArch64 Processor rev 4 (aarch64)\n";
    int number = 0;
    for (const Cluster& cluster : phone.clusters) {
      for (int i = 0; i < cluster.count; ++i, ++number) {
        char entry[200];
        std::snprintf(entry, sizeof(entry),
                      "processor\t: %d\nCPU implementer\t: 0x%02x\nCPU variant\t: 0x0\nCPU part\t: 0x%03x\n\n", number,
                      cluster.implementer, cluster.part);
        cpuinfo += entry;
        if (has_frequencies) {
          write("/sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpufreq/cpuinfo_max_freq",
                std::to_string(cluster.frequency) + "\n");
        }
      }
    }
    if (has_parts) {
      write("/proc/cpuinfo", cpuinfo);
    }
  }

  uint32_t fast_of(const std::vector<int>& numbers) const {
    return count_fast_processors(numbers.data(), numbers.size(), root_.c_str());
  }

  std::string root_;
};

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

int count_of(const Phone& phone) {
  return std::accumulate(phone.clusters.begin(), phone.clusters.end(), 0,
                         [](int sum, const Cluster& cluster) { return sum + cluster.count; });
}

TEST_F(LinuxProcessorsTest, CountsTheBigCoresOfPhones) {
  for (const Phone& phone : kPhones) {
    std::filesystem::remove_all(root_);
    write(phone, /*has_parts=*/true, /*has_frequencies=*/true);
    EXPECT_EQ(fast_of(first_numbers(count_of(phone))), phone.fast) << phone.name;
  }
}

TEST_F(LinuxProcessorsTest, CountsOnlyTheProcessorsThatMayBeUsed) {
  write(kPhones.back(), true, true);
  EXPECT_EQ(fast_of({0, 1, 2, 3}), 4u);  // the efficient ones alone
  EXPECT_EQ(fast_of({3, 4}), 1u);
  EXPECT_EQ(fast_of({4, 6, 7}), 2u);  // by frequency: 1.9 GHz beside 2.6 GHz
  EXPECT_EQ(fast_of({}), 0u);
}

TEST_F(LinuxProcessorsTest, FrequenciesTellWhereIdentificationsAreMissing) {
  const Phone& phone = kPhones[9];
  write(phone, /*has_parts=*/false, /*has_frequencies=*/true);
  EXPECT_EQ(fast_of(first_numbers(8)), 4u);
}

TEST_F(LinuxProcessorsTest, IdentificationsTellWhereFrequenciesAreMissing) {
  const Phone& phone = kPhones[5];
  write(phone, /*has_parts=*/true, /*has_frequencies=*/false);
  EXPECT_EQ(fast_of(first_numbers(8)), 4u);
}

TEST_F(LinuxProcessorsTest, AllAreFastIfTheSystemSaysNothing) {
  EXPECT_EQ(fast_of(first_numbers(6)), 6u);
  write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nprocessor\t: 1\n");
  EXPECT_EQ(fast_of(first_numbers(2)), 2u);
}

TEST_F(LinuxProcessorsTest, FilesWithOtherContentsAreIgnored) {
  write("/proc/cpuinfo", "processor\t: 99999999\nCPU part\t: 0xd03\nprocessor : -1\nCPU part : 0xd03\nCPU part : x\n" +
                             std::string(3000, 'x'));
  write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "<unknown>\n");
  EXPECT_EQ(fast_of({0, 1, 5000, -1}), 4u);
}

TEST_F(LinuxProcessorsTest, ControlGroupsLimitTheTime) {
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 0u);
  write("/proc/self/cgroup", "0::/user.slice/app.scope\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 0u);
  write("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 0u);
  write("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "250000 100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 3u);  // 2.5 processors
  write("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 2u);  // limit of the parent group
  write("/sys/fs/cgroup/cpu.max", "10000 100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 1u);
}

// In a container, the process's group appears as the root group.
TEST_F(LinuxProcessorsTest, ControlGroupsOfContainers) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 2u);
}

TEST_F(LinuxProcessorsTest, ControlGroupsOfVersion1) {
  write("/proc/self/cgroup", "12:cpuset:/a\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n0::/\n");
  write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 0u);
  write("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 1u);
}

TEST_F(LinuxProcessorsTest, ControlGroupsWithOtherContentsAreIgnored) {
  write("/proc/self/cgroup", "0\n:::\ncpu\n0::" + std::string(2000, '/') + "\n");
  write("/sys/fs/cgroup/cpu.max", "-5 0\n");
  EXPECT_EQ(processors_of_control_group(root_.c_str()), 0u);
}

}  // namespace
#endif
