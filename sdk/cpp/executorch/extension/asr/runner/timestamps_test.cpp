// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/timestamps.h>

#include <gtest/gtest.h>

#include <limits>

#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::asr::internal;
using executorch::runtime::Error;

constexpr float kOut = -std::numeric_limits<float>::infinity();

/// Text 0 to 3, the end 4, "no times" 5, times 6 to 9.
Timestamps times() {
  Timestamps found;
  found.first = 6;
  found.step = 320;
  found.latest_start = 1;
  found.off = 5;
  return found;
}

std::vector<float> after(const std::vector<uint64_t>& tokens, std::vector<float> logits = std::vector<float>(10)) {
  TimestampConstraint rules(times(), {4});
  for (const uint64_t token : tokens) {
    EXPECT_EQ(rules.accept(token), Error::Ok);
  }
  EXPECT_EQ(rules.apply(logits.data(), static_cast<int64_t>(logits.size())), Error::Ok);
  EXPECT_FALSE(rules.has_ended());
  return logits;
}

class TimestampsTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(TimestampsTest, WhatMayFollow) {
  // A time first, no later than the latest start.
  EXPECT_EQ(after({}), (std::vector<float>{kOut, kOut, kOut, kOut, kOut, kOut, 0, 0, kOut, kOut}));
  // Text after the first time, and after a pair.
  const std::vector<float> text{0, 0, 0, 0, 0, kOut, kOut, kOut, kOut, kOut};
  EXPECT_EQ(after({7}), text);
  EXPECT_EQ(after({6, 1, 7, 7}), text);
  // After the end of a part: a second time or the end token; times do not go back.
  const std::vector<float> likely{0, 0, 0, 0, 9, 0, 0, 0, 0, 0};
  EXPECT_EQ(after({6, 1, 7}, likely), (std::vector<float>{kOut, kOut, kOut, kOut, 9, kOut, kOut, 0, 0, 0}));
  // Within a part, more text or a later time may follow.
  const std::vector<float> spoken{9, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(after({6, 1}, spoken), (std::vector<float>{9, 0, 0, 0, 0, kOut, kOut, 0, 0, 0}));
  // If all times together are likelier than each text token, a time follows.
  EXPECT_EQ(after({6, 1}), (std::vector<float>{kOut, kOut, kOut, kOut, kOut, kOut, kOut, 0, 0, 0}));
  TimestampConstraint rules(times(), {4});
  float logits[6] = {};
  EXPECT_EQ(rules.apply(logits, 6), Error::InvalidState);
}

TEST_F(TimestampsTest, Parts) {
  // Two complete parts, and an unfinished one that belongs to the next window.
  Parts found = parts_of({6, 1, 7, 7, 2, 8, 8, 3}, times(), 4000, true);
  ASSERT_EQ(found.parts.size(), 2U);
  EXPECT_EQ(found.next, 640);
  EXPECT_EQ(found.parts[0].start, 0);
  EXPECT_EQ(found.parts[0].end, 320);
  EXPECT_EQ(found.parts[0].tokens, (std::vector<int64_t>{6, 1, 7}));
  EXPECT_EQ(found.parts[1].start, 320);
  EXPECT_EQ(found.parts[1].end, 640);
  // A single time at the end ends the text.
  found = parts_of({6, 1, 7, 7, 2, 9}, times(), 4000, true);
  ASSERT_EQ(found.parts.size(), 2U);
  EXPECT_EQ(found.parts[1].end, 960);
  EXPECT_EQ(found.next, 4000);
  // No pair: one part, up to the last time if there is one.
  found = parts_of({6, 1, 2, 9}, times(), 4000, true);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.parts[0].end, 960);
  EXPECT_EQ(parts_of({6, 1}, times(), 4000, true).parts[0].end, 4000);
  // After a time beyond the window, or a pair at time 0, the next window begins at the end of this one.
  EXPECT_EQ(parts_of({6, 1, 9, 9}, times(), 400, true).next, 400);
  EXPECT_EQ(parts_of({6, 1, 6, 6}, times(), 4000, true).next, 4000);
}

TEST_F(TimestampsTest, PartsWithoutText) {
  for (const std::vector<int64_t>& tokens : {std::vector<int64_t>(), {6}, {6, 9}, {7, 7}}) {
    EXPECT_TRUE(parts_of(tokens, times(), 4000, true).parts.empty());
  }
  EXPECT_EQ(parts_of({}, times(), 4000, true).next, 4000);
  EXPECT_EQ(parts_of({6}, times(), 4000, true).next, 4000);
  // The other parts have text.
  const Parts found = parts_of({6, 1, 7, 7, 8, 8, 2, 9}, times(), 4000, true);
  ASSERT_EQ(found.parts.size(), 2U);
  EXPECT_EQ(found.parts[1].start, 640);
  EXPECT_EQ(found.parts[1].end, 960);
}

/// The next window begins where the text can go on: no speech is left out.
TEST_F(TimestampsTest, PartsOfATextThatALimitCuts) {
  // The limit cuts a part after a pair.
  Parts found = parts_of({6, 1, 7, 7, 2}, times(), 4000, false);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.next, 320);
  // The limit cuts at the end of a part: a later one, or the first.
  found = parts_of({6, 1, 7, 7, 2, 9}, times(), 4000, false);
  ASSERT_EQ(found.parts.size(), 2U);
  EXPECT_EQ(found.next, 960);
  found = parts_of({6, 1, 2, 9}, times(), 4000, false);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.parts[0].end, 960);
  EXPECT_EQ(found.parts[0].tokens, (std::vector<int64_t>{6, 1, 2, 9}));
  EXPECT_EQ(found.next, 960);
  // The limit cuts the first part, which begins later than the window: the next window begins there.
  found = parts_of({7, 1, 2}, times(), 4000, false);
  EXPECT_TRUE(found.parts.empty());
  EXPECT_EQ(found.next, 320);
  // The limit cuts a first part that begins with the window, or has no time: the next window would be the same.
  EXPECT_EQ(parts_of({6, 1, 2}, times(), 4000, false).next, 0);
  EXPECT_EQ(parts_of({6}, times(), 4000, false).next, 0);
  EXPECT_EQ(parts_of({1, 2}, times(), 4000, false).next, 0);
  EXPECT_EQ(parts_of({6, 1, 6, 6, 2}, times(), 4000, false).next, 0);
  EXPECT_EQ(parts_of({6, 1, 9}, times(), 400, false).next, 400);
}

}  // namespace
