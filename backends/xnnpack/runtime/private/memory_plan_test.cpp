// SPDX-License-Identifier: BSD-3-Clause
// Values with overlapping lifetimes do not overlap in memory, and the workspace is small.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <random>
#include <vector>

#include "private/xnnpack_runtime.h"

extern "C" void executorch_xnnpack_plan_values(xnn_value_allocation_tracker* tracker);

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Life {
  uint32_t first, last;
  size_t size;
  uint32_t reuses = XNN_INVALID_VALUE_ID;
};

struct Plan {
  size_t size;
  std::vector<size_t> offsets;
};

Plan plan(const std::vector<Life>& lives) {
  std::vector<xnn_usage_record> records;
  for (const Life& life : lives) {
    records.push_back({life.first, life.last, life.size, SIZE_MAX, life.reuses, UINT32_MAX});
  }
  xnn_value_allocation_tracker tracker{SIZE_MAX, records.data(), 0, records.size() - 1};
  executorch_xnnpack_plan_values(&tracker);
  Plan made{tracker.mem_arena_size, {}};
  for (const xnn_usage_record& record : records) {
    made.offsets.push_back(record.alloc_offset);
  }
  return made;
}

/// The largest sum of sizes at one time: a lower bound for every plan.
size_t least_size(const std::vector<Life>& lives) {
  size_t least = 0;
  for (const Life& at : lives) {
    size_t sum = 0;
    for (const Life& life : lives) {
      sum += life.first <= at.first && at.first <= life.last ? life.size : 0;
    }
    least = std::max(least, sum);
  }
  return least;
}

TEST(XnnpackMemoryPlan, ValuesOneAfterTheOtherTakeTheRoomOfTwo) {
  // Values alternate between the start of the workspace and offset 400, so the third has to use the gap before the
  // second.
  const std::vector<Life> lives = {{0, 1, 400}, {1, 2, 300}, {2, 3, 400}, {3, 4, 300}, {4, 5, 350}};
  EXPECT_EQ(plan(lives).size, 700u);
}

TEST(XnnpackMemoryPlan, WhatIsComputedInPlaceLiesWhereItsInputDid) {
  const Plan made = plan({{0, 4, 100}, {1, 2, 0, 0}, {2, 4, 0, 1}, {1, 3, 50}});
  EXPECT_EQ(made.size, 150u);
  EXPECT_EQ(made.offsets[1], made.offsets[0]);
  EXPECT_EQ(made.offsets[2], made.offsets[0]);
}

TEST(XnnpackMemoryPlan, NothingTakesNothing) {
  EXPECT_EQ(plan({{0, 1, 0}}).size, 0u);
  xnn_value_allocation_tracker none{SIZE_MAX, nullptr, XNN_INVALID_VALUE_ID, XNN_INVALID_VALUE_ID};
  executorch_xnnpack_plan_values(&none);
  EXPECT_EQ(none.mem_arena_size, 0u);
}

TEST(XnnpackMemoryPlan, ValuesThatAreNeededTogetherLieApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Life> lives;
    for (uint32_t i = 0; i < 40; ++i) {
      lives.push_back({i, i + 1 + static_cast<uint32_t>(random() % 6), 16 * (1 + random() % 100)});
    }
    const Plan made = plan(lives);
    for (size_t i = 0; i < lives.size(); ++i) {
      ASSERT_LE(made.offsets[i] + lives[i].size, made.size);
      for (size_t j = 0; j < i; ++j) {
        const bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        ASSERT_TRUE(!together || made.offsets[i] + lives[i].size <= made.offsets[j] ||
                    made.offsets[j] + lives[j].size <= made.offsets[i]);
      }
    }
    ASSERT_GE(made.size, least_size(lives));
    ASSERT_LE(made.size, least_size(lives) * 3 / 2);
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
