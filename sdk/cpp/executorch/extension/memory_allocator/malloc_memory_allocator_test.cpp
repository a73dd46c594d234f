// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include <executorch/runtime/platform/runtime.h>

using executorch::extension::MallocMemoryAllocator;

// CPP-07
TEST(MallocMemoryAllocatorTest, AlignsAndCounts) {
  executorch::runtime::runtime_init();
  MallocMemoryAllocator allocator;
  size_t total = 0;
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void* block = allocator.allocate(100, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    std::memset(block, 0xab, 100);  // the address sanitizer checks that all of it is ours
    total += 100;
  }
  EXPECT_EQ(allocator.used_size(), total);
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_NE(allocator.allocate(8), nullptr);
}

TEST(MallocMemoryAllocatorTest, RefusesWhatCannotBe) {
  executorch::runtime::runtime_init();
  MallocMemoryAllocator allocator;
  EXPECT_EQ(allocator.allocate(8, 0), nullptr);
  EXPECT_EQ(allocator.allocate(8, 24), nullptr);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<size_t>::max(), 64), nullptr);
  EXPECT_EQ(allocator.used_size(), 0u);
}

TEST(MallocMemoryAllocatorTest, KeepsToALimit) {
  executorch::runtime::runtime_init();
  MallocMemoryAllocator allocator(100);
  EXPECT_NE(allocator.allocate(60), nullptr);
  EXPECT_EQ(allocator.allocate(41), nullptr);
  EXPECT_NE(allocator.allocate(40), nullptr);
  EXPECT_EQ(allocator.allocate(1), nullptr);
  allocator.reset();
  EXPECT_NE(allocator.allocate(100), nullptr);
  allocator.set_max_bytes(50);
  EXPECT_EQ(allocator.allocate(1), nullptr) << "more is in use already";
}
