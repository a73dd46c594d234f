// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/threadpool.h>

#include <pthreadpool.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/parallel/thread_parallel.h>
#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/extension/threadpool/test/child_process.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::extension::get_thread_num;
using executorch::extension::parallel_for;
using executorch::extension::threadpool::get_pthreadpool;
using executorch::extension::threadpool::get_threadpool;
using executorch::extension::threadpool::NoThreadPoolGuard;
using executorch::extension::threadpool::ThreadPool;

namespace {

/// How often fn(i) was called for each i.
std::vector<int> visits(ThreadPool& pool, size_t range) {
  std::vector<std::atomic<int>> counts(range);
  pool.run([&](size_t i) { ++counts[i]; }, range);
  return std::vector<int>(counts.begin(), counts.end());
}

TEST(ThreadPoolTest, RunsEverythingOnce) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.get_thread_count(), 4u);
  for (const size_t range : {0, 1, 3, 1000}) {
    EXPECT_EQ(visits(pool, range), std::vector<int>(range, 1));
  }
}

// FAQ-06
TEST(ThreadPoolTest, IsMadeAnew) {
  ThreadPool pool(2);
  EXPECT_TRUE(pool._unsafe_reset_threadpool(3));
  EXPECT_EQ(pool.get_thread_count(), 3u);
  EXPECT_EQ(visits(pool, 100), std::vector<int>(100, 1));
  pool._unsafe_destroy_threadpool();
  EXPECT_EQ(pool.get_thread_count(), 1u);
  EXPECT_EQ(visits(pool, 100), std::vector<int>(100, 1)) << "on the caller's thread";
  EXPECT_TRUE(pool._unsafe_reset_threadpool(2));
  EXPECT_EQ(pool.get_thread_count(), 2u);
}

TEST(ThreadPoolTest, GuardKeepsWorkOnTheThread) {
  ThreadPool* pool = get_threadpool();
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(get_threadpool(), pool) << "one for the process";
  ASSERT_TRUE(pool->_unsafe_reset_threadpool(4));
  EXPECT_NE(get_pthreadpool(), nullptr);
  const auto self = std::this_thread::get_id();
  {
    const NoThreadPoolGuard guard;
    EXPECT_EQ(get_pthreadpool(), nullptr);
    pool->run([&](size_t) { EXPECT_EQ(std::this_thread::get_id(), self); }, 100);
    {
      const NoThreadPoolGuard inner;
    }
    EXPECT_TRUE(NoThreadPoolGuard::is_enabled()) << "the end of an inner guard is not the end of the outer one";
  }
  EXPECT_FALSE(NoThreadPoolGuard::is_enabled());
}

TEST(ThreadPoolTest, TasksMayUseThePool) {
  ThreadPool pool(4);
  std::atomic<int> calls{0};
  pool.run([&](size_t) { pool.run([&](size_t) { ++calls; }, 10); }, 10);
  EXPECT_EQ(calls, 100);
}

TEST(ThreadPoolTest, ServesSeveralCallers) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.run([&](size_t) { ++calls; }, 20);
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(calls, 4 * 50 * 20);
}

TEST(ThreadPoolTest, WorksInAForkedProcess) {
  ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(4));
  EXPECT_EQ(visits(*get_threadpool(), 100), std::vector<int>(100, 1));
  EXPECT_TRUE(holds_in_child([] { return visits(*get_threadpool(), 100) == std::vector<int>(100, 1); }));
}

/// Two items that end when both have begun, which needs two threads.
class Meeting {
 public:
  void take_part() {
    ++arrived_;
    while (arrived_ != 2) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> arrived_{0};
};

constexpr auto kUntilThreadsSleep = std::chrono::milliseconds(20);

TEST(ThreadPoolTest, WakesThreadsThatSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(kUntilThreadsSleep);
    Meeting meeting;
    pool.run([&](size_t) { meeting.take_part(); }, 2);
  }
}

TEST(ThreadPoolTest, ThreadsThatAreToRestComeToTheNextTask) {
  pthreadpool_t pool = pthreadpool_create(2);
  for (int round = 0; round < 1000; ++round) {
    Meeting meeting;
    pthreadpool_parallelize_1d(
        pool, [](void* context, size_t) { static_cast<Meeting*>(context)->take_part(); }, &meeting, 2,
        round % 3 == 0 ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
  }
  pthreadpool_destroy(pool);
}

TEST(ThreadPoolTest, WaitsForAThreadThatTakesLong) {
  ThreadPool pool(2);
  const auto self = std::this_thread::get_id();
  for (int round = 0; round < 3; ++round) {
    Meeting meeting;
    bool is_done = false;
    pool.run(
        [&](size_t) {
          meeting.take_part();
          if (std::this_thread::get_id() != self) {
            std::this_thread::sleep_for(kUntilThreadsSleep);
            is_done = true;
          }
        },
        2);
    EXPECT_TRUE(is_done);
  }
}

// Without atomics: the caller, and the items of the next task, see the writes of the items.
TEST(ThreadPoolTest, TasksFollowEachOther) {
  ThreadPool pool(4);
  std::vector<int> counts(50);
  for (int round = 0; round < 5000; ++round) {
    const size_t items = 2 + static_cast<size_t>(round) % (counts.size() - 1);
    std::vector<int> expected = counts;
    for (size_t i = 0; i < items; ++i) {
      ++expected[i];
    }
    pool.run([&](size_t i) { ++counts[i]; }, items);
    ASSERT_EQ(counts, expected) << "round " << round;
  }
}

TEST(ThreadPoolTest, EndsWhileThreadsBegin) {
  for (int round = 0; round < 100; ++round) {
    ThreadPool pool(8);
    if (round % 2 == 0) {
      EXPECT_EQ(visits(pool, 20), std::vector<int>(20, 1));
    }
  }
}

#if defined(__linux__)  // futex_threads.c

TEST(ThreadPoolTest, WaitsForNoThreadThatHasNotCome) {
  ThreadPool pool(4);
  EXPECT_EQ(visits(pool, 100), std::vector<int>(100, 1));
  EXPECT_TRUE(holds_in_child([&] { return visits(pool, 100) == std::vector<int>(100, 1); }));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ThreadPoolTest, HasAsManyThreadsAsThereAre) {
  EXPECT_TRUE(holds_in_child([] {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit stack{8 << 20, 8 << 20};
    const rlim_t memory = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (36 << 20);  // enough for four stacks
    const rlimit all{memory, memory};
    if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &all) != 0) {
      return false;
    }
    ThreadPool pool(100);
    return pool.get_thread_count() < 100 && visits(pool, 300) == std::vector<int>(300, 1);
  }));
}
#endif

#endif

TEST(ParallelForTest, CoversTheRange) {
  executorch::runtime::runtime_init();
  ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(4));
  for (const int64_t end : {5, 6, 100, 1001}) {
    for (const int64_t grain : {1, 7, 2000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(end));
      EXPECT_TRUE(parallel_for(5, end, grain, [&](int64_t first, int64_t last) {
        EXPECT_TRUE(first < last);
        EXPECT_TRUE(get_thread_num() >= 0 && get_thread_num() < 4);
        for (int64_t i = first; i < last; ++i) {
          ++counts[static_cast<size_t>(i)];
        }
      }));
      for (int64_t i = 0; i < end; ++i) {
        EXPECT_EQ(counts[static_cast<size_t>(i)], i < 5 ? 0 : 1) << i << " of " << end << " by " << grain;
      }
    }
  }
  EXPECT_EQ(get_thread_num(), 0);
}

TEST(ParallelForTest, RefusesInvalidRanges) {
  executorch::runtime::runtime_init();
  const auto never = [](int64_t, int64_t) { ADD_FAILURE(); };
  EXPECT_FALSE(parallel_for(-1, 10, 1, never));
  EXPECT_FALSE(parallel_for(10, 9, 1, never));
  EXPECT_FALSE(parallel_for(0, 10, 0, never));
  EXPECT_FALSE(parallel_for(INT64_MIN, INT64_MAX, 1, never));
}

TEST(CpuinfoTest, CountsCores) {
  const uint32_t cores = executorch::extension::cpuinfo::get_num_performant_cores();
  EXPECT_GE(cores, 1u);
  EXPECT_LE(cores, std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
