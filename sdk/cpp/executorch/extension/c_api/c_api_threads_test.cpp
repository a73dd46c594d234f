// SPDX-License-Identifier: BSD-3-Clause
// The threads that all modules share: reading and changing their number, also while modules run.
#include <atomic>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "c_api_test_support.h"

using namespace c_api_test;

namespace {

class ThreadCountTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(et_set_thread_count(0, nullptr), et_status{ET_STATUS_OK}); }
};

/// Whether this library has threads; one without takes 1 and refuses more.
bool has_threads() {
  et_error* error = nullptr;
  const et_status status = et_set_thread_count(2, &error);
  const std::string text = take(error);
  EXPECT_TRUE(status == ET_STATUS_OK || status == ET_STATUS_NOT_SUPPORTED) << text;
  return status == ET_STATUS_OK;
}

TEST_F(ThreadCountTest, IsWhatWasSet) {
  EXPECT_GE(et_thread_count(), 1u);
  for (const size_t count : {size_t{1}, size_t{3}, size_t{2}, size_t{2}}) {
    if (count > 1 && !has_threads()) {
      continue;
    }
    EXPECT_EQ(et_set_thread_count(count, nullptr), et_status{ET_STATUS_OK});
    EXPECT_EQ(et_thread_count(), count);
  }
}

#if defined(__linux__)
// Where all cores are equally fast, those that this process may not use are the difference.
TEST_F(ThreadCountTest, ZeroIsOneForEachFastCore) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) {
    ++first;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(et_set_thread_count(0, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_thread_count(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}
#endif

TEST_F(ThreadCountTest, RefusesWhatIsNoNumberOfThreads) {
  const size_t before = et_thread_count();
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "up to 1024", et_set_thread_count, static_cast<size_t>(-1));
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "found 1025", et_set_thread_count, size_t{1025});
  EXPECT_EQ(et_thread_count(), before);
}

TEST_F(ThreadCountTest, ChangesBetweenTheRunsOfOthers) {
  const size_t most = has_threads() ? 3 : 1;
  std::atomic<bool> done{false};
  std::thread runner([&done] {
    std::vector<float> data{1, 2, 3, 4, 5, 6};
    const Module module = load("add");
    while (!done) {
      const Tensor tensor = wrap(data, {2, 3});
      const ExecutionResult result = execute(module, "forward", {value_of(tensor), value_of(tensor)});
      ASSERT_NE(result, nullptr);
      EXPECT_EQ(floats(value_at(result, 0).payload.as_tensor)[5], 12.0f);
    }
  });
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(et_set_thread_count(1 + i % most, nullptr), et_status{ET_STATUS_OK});
    std::this_thread::yield();
  }
  done = true;
  runner.join();
}

}  // namespace
