// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/cpu_caching_malloc_allocator.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>

using executorch::extension::CPUCachingAllocator;
using executorch::extension::kCachingAllocatorDefaultAlignment;

namespace {

class CPUCachingAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(CPUCachingAllocatorTest, AlignsAndCounts) {
  CPUCachingAllocator allocator(1 << 20);
  size_t total = 0;
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void* block = allocator.allocate(100, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    std::memset(block, 0xab, 100);
    total += 100;
  }
  EXPECT_EQ(allocator.used_size(), total);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(allocator.allocate(1)) % kCachingAllocatorDefaultAlignment, 0u);
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
}

TEST_F(CPUCachingAllocatorTest, ReusesBlocksOfTheSameSize) {
  CPUCachingAllocator allocator(1 << 20);
  std::set<void*> first;
  for (int i = 0; i < 4; ++i) {
    first.insert(allocator.allocate(1000));
  }
  EXPECT_EQ(first.size(), 4u) << "what is in use is not handed out again";
  allocator.reset();
  std::set<void*> second;
  for (int i = 0; i < 4; ++i) {
    second.insert(allocator.allocate(1000));
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.count(allocator.allocate(1001)), 0u);
}

TEST_F(CPUCachingAllocatorTest, KeepsNoMoreThanItMay) {
  CPUCachingAllocator allocator(0);
  ASSERT_NE(allocator.allocate(1 << 20), nullptr);
  allocator.reset();  // the leak sanitizer and valgrind see whether it is gone
  ASSERT_NE(allocator.allocate(1 << 20), nullptr);
}

TEST_F(CPUCachingAllocatorTest, RefusesWhatCannotBe) {
  CPUCachingAllocator allocator(100);
  EXPECT_EQ(allocator.allocate(8, 0), nullptr);
  EXPECT_EQ(allocator.allocate(8, 24), nullptr);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<size_t>::max(), 64), nullptr);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<size_t>::max(), 1), nullptr);
  EXPECT_EQ(allocator.used_size(), 0u);
}

TEST_F(CPUCachingAllocatorTest, ManyThreads) {
  CPUCachingAllocator allocator(1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      for (int i = 0; i < 200; ++i) {
        void* block = allocator.allocate(static_cast<size_t>(64 * (t + 1)));
        ASSERT_NE(block, nullptr);
        std::memset(block, t, static_cast<size_t>(64 * (t + 1)));
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(allocator.used_size(), 200u * 64u * (1 + 2 + 3 + 4));
}

}  // namespace
