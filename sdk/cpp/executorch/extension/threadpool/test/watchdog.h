// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

/// Prints the current work and aborts the process if it takes longer than `limit`.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds(120))
      : limit_(limit), thread_([this] { watch(); }) {}

  ~Watchdog() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Names the work that begins: a kernel, its sizes and the number of threads.
  void begin(std::string work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = std::move(work);
    ++begun_;
    changed_.notify_all();
  }

 private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_done_) {
      const size_t seen = begun_;
      // By the system clock, because the thread sanitizer does not support waiting by the steady clock.
      const auto end = std::chrono::system_clock::now() + limit_;
      if (!changed_.wait_until(lock, end, [&] { return is_done_ || begun_ != seen; })) {
        std::fprintf(stderr, "%s has not ended after %lld s\n", work_.c_str(), static_cast<long long>(limit_.count()));
        std::abort();
      }
    }
  }

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string work_ = "the test";
  size_t begun_ = 0;
  bool is_done_ = false;
  std::thread thread_;
};
