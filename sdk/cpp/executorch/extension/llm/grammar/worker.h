// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Runs one task at a time on a thread of its own, which begins with the first task. start() and wait() are called from
/// one thread.
class Worker final {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Waits for the task.
  ~Worker() {
    if (thread_.joinable()) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ends_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
  }

  /// Begins `task`, which must not throw. Waits for the previous one. Returns false, without calling the task, if the
  /// system has no thread or memory left.
  bool start(std::function<void()> task) {
    wait();
    try {
      if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
      }
    } catch (const std::exception&) {
      return false;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      task_ = std::move(task);
    }
    changed_.notify_all();
    return true;
  }

  /// Returns when the last task has ended.
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ != nullptr || ends_; });
      if (task_ == nullptr) {
        return;
      }
      lock.unlock();
      task_();
      lock.lock();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // null while there is none
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
