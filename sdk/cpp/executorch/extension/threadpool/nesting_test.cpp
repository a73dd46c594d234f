// SPDX-License-Identifier: BSD-3-Clause
// Parallel loops while the pool is busy: inside its tasks, and in other threads.
#include <pthreadpool.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/parallel/thread_parallel.h>
#include <executorch/extension/threadpool/test/child_process.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::extension::get_thread_num;
using executorch::extension::parallel_for;
using executorch::extension::threadpool::get_pthreadpool;
using executorch::extension::threadpool::get_threadpool;
using executorch::extension::threadpool::NoThreadPoolGuard;
using executorch::extension::threadpool::ThreadPool;

namespace {

constexpr uint32_t kThreadCounts[] = {1, 2, 3, 8};

/// Runs each test in separate processes with 1, 2, 3 and 8 threads. A process that hangs is killed, and the test fails.
class NestingTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  template <typename Work>
  void expect_holds(const Work& work) {
    executorch::runtime::runtime_init();
    ASSERT_TRUE(holds_in_child([&] { return get_threadpool()->_unsafe_reset_threadpool(GetParam()) && work(); }));
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, NestingTest, ::testing::ValuesIn(kThreadCounts));

bool all_are(const std::vector<std::atomic<int>>& counts, int expected) {
  return std::all_of(counts.begin(), counts.end(), [&](const auto& count) { return count == expected; });
}

/// Visits `width` items on each of `levels` levels by nested parallel_for() calls. Returns false if nested loops use
/// another thread, or if the thread's number changes.
bool visit(int levels, int64_t width, size_t first, std::vector<std::atomic<int>>& counts) {
  if (levels == 0) {
    ++counts[first];
    return true;
  }
  const auto caller = std::this_thread::get_id();
  const bool is_nested = NoThreadPoolGuard::is_enabled();
  const int64_t number = get_thread_num();
  std::atomic<bool> holds{true};
  const bool ran = parallel_for(0, width, 1, [&](int64_t begin, int64_t end) {
    if (is_nested && (std::this_thread::get_id() != caller || get_thread_num() != number)) {
      holds = false;
    }
    for (int64_t i = begin; i < end; ++i) {
      const size_t item = first * static_cast<size_t>(width) + static_cast<size_t>(i);
      holds = visit(levels - 1, width, item, counts) && holds;
    }
  });
  return ran && holds && get_thread_num() == number;
}

TEST_P(NestingTest, ParallelForInParallelFor) {
  for (int levels = 1; levels <= 4; ++levels) {
    for (const int64_t width : {1, 2, 3, 9}) {
      SCOPED_TRACE(::testing::Message() << levels << " levels of " << width);
      expect_holds([&] {
        size_t items = 1;
        for (int level = 0; level < levels; ++level) {
          items *= static_cast<size_t>(width);
        }
        std::vector<std::atomic<int>> counts(items);
        return visit(levels, width, 0, counts) && all_are(counts, 1);
      });
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_P(NestingTest, ParallelForInATaskOfPthreadpool) {
  expect_holds([] {
    std::vector<std::atomic<int>> counts(12 * 100);
    pthreadpool_parallelize_1d(
        get_pthreadpool(),
        [](void* context, size_t i) {
          auto& visited = *static_cast<std::vector<std::atomic<int>>*>(context);
          parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) {
            for (int64_t j = begin; j < end; ++j) {
              ++visited[i * 100 + static_cast<size_t>(j)];
            }
          });
        },
        &counts, 12, /*flags=*/0);
    return all_are(counts, 1);
  });
}

#if defined(__linux__)  // futex_threads.c

struct Level {
  pthreadpool_t pool;
  int levels;
  std::atomic<int>* calls;

  static void run(void* context, size_t) {
    const Level& outer = *static_cast<const Level*>(context);
    if (outer.levels == 0) {
      ++*outer.calls;
      return;
    }
    Level inner{outer.pool, outer.levels - 1, outer.calls};
    pthreadpool_parallelize_1d(outer.pool, run, &inner, 5, /*flags=*/0);
  }
};

TEST_P(NestingTest, PthreadpoolInATaskOfPthreadpool) {
  expect_holds([] {
    std::atomic<int> calls{0};
    Level top{get_pthreadpool(), 3, &calls};
    Level::run(&top, 0);
    return calls == 5 * 5 * 5;
  });
}

// Items keep their indices even if the caller computes some of them before the pool is free.
TEST_P(NestingTest, CallersOfPthreadpoolDoNotWaitForEachOther) {
  expect_holds([] {
    struct Tile {
      std::vector<std::atomic<int>>& counts;
      static void visit(void* context, size_t i, size_t j, size_t rows, size_t columns) {
        for (size_t y = i; y < i + rows; ++y) {
          for (size_t x = j; x < j + columns; ++x) {
            ++static_cast<Tile*>(context)->counts[y * 17 + x];
          }
        }
      }
    };
    std::atomic<bool> holds{true};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&holds, pool = get_pthreadpool()] {
        std::vector<std::atomic<int>> counts(23 * 17);
        Tile tile{counts};
        for (int round = 1; round <= 200; ++round) {
          pthreadpool_parallelize_2d_tile_2d(pool, Tile::visit, &tile, 23, 17, 2, 3, /*flags=*/0);
          holds = all_are(counts, round) && holds;
        }
      });
    }
    for (auto& caller : callers) {
      caller.join();
    }
    return holds.load();
  });
}

// A delegate holds its workspace's mutex while it waits for threads; a task of another caller may run such a delegate.
TEST_P(NestingTest, TaskMayWaitForAMutexOfAnotherCaller) {
  expect_holds([] {
    std::mutex workspace;
    std::atomic<bool> task_began{false}, mutex_is_held{false};
    std::thread other([&, pool = get_pthreadpool()] {
      while (!task_began) {
        std::this_thread::yield();
      }
      const std::lock_guard<std::mutex> lock(workspace);
      mutex_is_held = true;
      pthreadpool_parallelize_1d(pool, [](void*, size_t) {}, nullptr, 100, /*flags=*/0);
    });
    get_threadpool()->run(
        [&](size_t) {
          task_began = true;
          while (!mutex_is_held) {
            std::this_thread::yield();
          }
          const std::lock_guard<std::mutex> lock(workspace);
        },
        8);
    other.join();
    return true;
  });
}

#endif

TEST_P(NestingTest, TaskMayWaitForAnotherThreadThatUsesThePool) {
  expect_holds([] {
    std::atomic<int> calls{0};
    get_threadpool()->run(
        [&](size_t) {
          std::thread other([&] { get_threadpool()->run([&](size_t) { ++calls; }, 20); });
          other.join();
        },
        10);
    return calls == 10 * 20;
  });
}

TEST_P(NestingTest, CountsThreadsInATask) {
  expect_holds([] {
    std::atomic<bool> holds{true};
    get_threadpool()->run([&](size_t) { holds = get_threadpool()->get_thread_count() == GetParam() && holds; }, 10);
    return holds.load();
  });
}

TEST_P(NestingTest, RunsThatOverlapAResetAreCompleted) {
  expect_holds([] {
    std::atomic<bool> ends{false};
    std::thread other([&] {
      for (uint32_t round = 0; round < 50; ++round) {
        get_threadpool()->_unsafe_reset_threadpool(1 + round % 4);
      }
      ends = true;
    });
    bool holds = true;
    while (!ends) {
      std::vector<std::atomic<int>> counts(30);
      get_threadpool()->run([&](size_t i) { ++counts[i]; }, counts.size());
      holds = holds && all_are(counts, 1);
    }
    other.join();
    return holds;
  });
}

}  // namespace
