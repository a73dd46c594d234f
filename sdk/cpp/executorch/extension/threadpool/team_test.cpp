// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/team.h>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace executorch {
namespace extension {
namespace threadpool {
namespace {

/// How often each part was computed. Only the thread that computes a part writes its number.
struct Counts {
  std::vector<int> of_parts;

  static void count(const void* work, size_t part) {
    ++const_cast<Counts*>(static_cast<const Counts*>(work))->of_parts[part];
  }
};

class Helpers : public ::testing::TestWithParam<size_t> {};

TEST_P(Helpers, EachPartIsDoneOnce) {
  Team team;
  std::vector<std::thread> helpers;
  for (size_t i = 0; i < GetParam(); ++i) {
    helpers.emplace_back([&team] { team.help(); });
  }
  for (size_t piece = 0; piece < 3000; ++piece) {
    const size_t parts = piece % 100 == 99 ? Team::kMostParts : piece % 9;
    Counts counts{std::vector<int>(parts)};
    team.share(Counts::count, &counts, parts);
    ASSERT_EQ(counts.of_parts, std::vector<int>(parts, 1)) << "piece " << piece;
  }
  team.close();
  for (std::thread& helper : helpers) {
    helper.join();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Helpers, ::testing::Values(0, 1, 2, 5));

TEST(Team, AHelperDoesTheLastPartWhileTheLeaderDoesTheFirst) {
  struct Meeting {
    std::atomic<int> arrived{0};
    std::thread::id of_parts[2];

    static void wait_for_another(const void* work, size_t part) {
      auto& meeting = *const_cast<Meeting*>(static_cast<const Meeting*>(work));
      meeting.of_parts[part] = std::this_thread::get_id();
      ++meeting.arrived;
      while (meeting.arrived != 2) {
        std::this_thread::yield();
      }
    }
  };
  Team team;
  std::atomic<bool> has_met{false};
  std::thread helper([&] {
    while (!has_met) {
      team.help();  // returns if no work comes for a long time
    }
  });
  const std::thread::id helper_id = helper.get_id();
  Meeting meeting;
  team.share(Meeting::wait_for_another, &meeting, 2);
  has_met = true;
  team.close();
  helper.join();
  EXPECT_EQ(meeting.of_parts[0], std::this_thread::get_id());
  EXPECT_EQ(meeting.of_parts[1], helper_id);
}

TEST(Team, AHelperLeavesWhereNothingIsShared) {
  Team team;
  team.help();  // returns at once, because nothing is shared
  team.close();
  team.help();
}

}  // namespace
}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
