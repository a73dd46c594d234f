// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/core/function_ref.h>

// The declaration of pthreadpool.h, which only callers of that library need to include.
using pthreadpool_t = struct pthreadpool*;

namespace executorch {
namespace extension {
namespace threadpool {

/// The threads that run parallel loops of kernels. A process has one pool: see get_threadpool().
class ThreadPool final {
 public:
  /// @param thread_count Number of threads, including the caller's; 0 means the number of cores.
  explicit ThreadPool(size_t thread_count = 0);
  ~ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Number of threads, including the caller's; at least 1.
  size_t get_thread_count() const;

  /// Replaces the threads by `num_threads` new ones (0 means the number of cores). If that fails, keeps the old ones
  /// and returns false. A run() in progress ends on the old ones. Unsafe: destroys the pool that get_pthreadpool() has
  /// returned.
  bool _unsafe_reset_threadpool(uint32_t num_threads);

  /// Ends the threads: run() uses the caller's thread until _unsafe_reset_threadpool(). Unsafe for the same reason.
  void _unsafe_destroy_threadpool();

  /// Calls fn(0) ... fn(range - 1) on the threads, and returns when all calls have returned. It never waits for another
  /// caller: if the threads are busy, the calls are made on the current thread in sequence. So are calls inside `fn`,
  /// and under a NoThreadPoolGuard.
  void run(runtime::FunctionRef<void(size_t)> fn, size_t range);

 private:
  friend pthreadpool_t get_pthreadpool();
  friend ThreadPool* get_threadpool();

  std::shared_ptr<struct pthreadpool> threads() const;
  bool replace_threads(size_t count);

  /// Guards threads_, and is not held while a task runs.
  mutable std::mutex mutex_;
  std::shared_ptr<struct pthreadpool> threads_;
  /// Whether a run() uses the threads.
  std::atomic<bool> is_busy_{false};
};

/// The pool of the process, or of the shared library that this code is linked into; never null. The first call creates
/// it with one thread for each fast core; if memory runs out, it has the caller's thread only. A forked process gets
/// new threads. On Linux and Android, the threads end when the shared library is unloaded: call dlclose() only when no
/// kernel runs.
ThreadPool* get_threadpool();

/// The pool for libraries that call pthreadpool: the threads of get_threadpool(), or null under a NoThreadPoolGuard, so
/// that these libraries use the current thread.
pthreadpool_t get_pthreadpool();

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace threadpool {
using ::executorch::extension::threadpool::get_pthreadpool;
using ::executorch::extension::threadpool::get_threadpool;
using ::executorch::extension::threadpool::ThreadPool;
}  // namespace threadpool
}  // namespace executorch
}  // namespace torch
