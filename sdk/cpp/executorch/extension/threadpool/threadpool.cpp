// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/threadpool.h>

#include <pthreadpool.h>

#include <atomic>
#include <new>

#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace executorch {
namespace extension {
namespace threadpool {

namespace {

thread_local bool no_threadpool = false;

/// Set in a child process: threads do not survive a fork, and waiting for them would never end.
std::atomic<bool> forked{false};

}  // namespace

bool NoThreadPoolGuard::is_enabled() {
  return no_threadpool;
}

void NoThreadPoolGuard::set_enabled(bool enabled) {
  no_threadpool = enabled;
}

ThreadPool::ThreadPool(size_t thread_count) {
  (void)replace_threads(thread_count);
}

std::shared_ptr<struct pthreadpool> ThreadPool::threads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return threads_;
}

bool ThreadPool::replace_threads(size_t count) {
  std::shared_ptr<struct pthreadpool> replacement(pthreadpool_create(count), pthreadpool_destroy);
  if (replacement == nullptr) {
    return false;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_.swap(replacement);
  return true;
}

size_t ThreadPool::get_thread_count() const {
  return pthreadpool_get_threads_count(threads().get());  // 1 without a pool
}

bool ThreadPool::_unsafe_reset_threadpool(uint32_t num_threads) {
  const auto present = threads();
  if (num_threads != 0 && present != nullptr && pthreadpool_get_threads_count(present.get()) == num_threads) {
    return true;
  }
  ET_CHECK_OR_RETURN_FALSE(replace_threads(num_threads), "a pool of %u threads could not be made", num_threads);
  return true;
}

void ThreadPool::_unsafe_destroy_threadpool() {
  std::shared_ptr<struct pthreadpool> last;
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_.swap(last);
}

void ThreadPool::run(runtime::FunctionRef<void(size_t)> fn, size_t range) {
  const auto call = [&fn](size_t i) {
    // Parallel loops inside `fn` use its thread only, because the other threads work on this task.
    const NoThreadPoolGuard guard;
    fn(i);
  };
  const auto threads = NoThreadPoolGuard::is_enabled() ? nullptr : this->threads();
  size_t first = 0;
  while (first < range && (threads == nullptr || is_busy_.exchange(true, std::memory_order_acquire))) {
    call(first++);
  }
  if (first == range) {
    return;
  }
  struct Task {
    decltype(call)& run;
    const size_t first;
  } task{call, first};
  pthreadpool_parallelize_1d(
      threads.get(),
      [](void* context, size_t i) {
        const Task& shared = *static_cast<const Task*>(context);
        shared.run(shared.first + i);
      },
      &task, range - first, /*flags=*/0);
  is_busy_.store(false, std::memory_order_release);
}

ThreadPool* get_threadpool() {
  static ThreadPool* pool = nullptr;  // for the handlers of a fork, which have no argument
  // Never destroyed, because kernels may still run while static objects are destroyed.
  static const bool is_made = [] {
    pool = new (std::nothrow) ThreadPool(cpuinfo::get_num_performant_cores());
#if !defined(_WIN32)
    if (pool != nullptr) {
      // No other thread of the parent may hold the mutex that the child inherits. The child has only this thread. It
      // cannot create threads yet, but reads the flag when it next needs the pool.
      (void)pthread_atfork([] { pool->mutex_.lock(); }, [] { pool->mutex_.unlock(); },
                           [] {
                             pool->mutex_.unlock();
                             forked.store(true);
                           });
    }
#endif
    return pool != nullptr;
  }();
  if (is_made && forked.exchange(false)) {
    const size_t count = pool->get_thread_count();
    // The old threads are lost: destroying their pool would wait for them.
    (void)new (std::nothrow) std::shared_ptr<struct pthreadpool>(pool->threads());
    (void)pool->replace_threads(count);
    pool->is_busy_.store(false);
  }
  return pool;
}

pthreadpool_t get_pthreadpool() {
  if (NoThreadPoolGuard::is_enabled()) {
    return nullptr;
  }
  ThreadPool* pool = get_threadpool();
  return pool == nullptr ? nullptr : pool->threads().get();
}

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
