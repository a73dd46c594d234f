// SPDX-License-Identifier: BSD-3-Clause
// A shared library that contains the thread pool. unload_test.cpp loads and unloads it.
#include <atomic>
#include <chrono>
#include <thread>

#include <executorch/extension/threadpool/threadpool.h>

using executorch::extension::threadpool::get_threadpool;

extern "C" {

/// Runs a task on four threads. Returns how many of its 1000 items were run.
__attribute__((visibility("default"))) int run_items() {
  std::atomic<int> items{0};
  if (!get_threadpool()->_unsafe_reset_threadpool(4)) {
    return -1;
  }
  get_threadpool()->run([&](size_t) { ++items; }, 1000);
  return items;
}

/// Runs a task on four threads that does not end, and sets `begun` to the number of items in progress.
__attribute__((visibility("default"))) void run_endlessly(std::atomic<int>* begun) {
  if (!get_threadpool()->_unsafe_reset_threadpool(4)) {
    return;
  }
  get_threadpool()->run(
      [begun](size_t) {
        ++*begun;
        while (true) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      },
      4);
}
}
