// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/threadpool.h>

#include <pthreadpool.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
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

/// The number of forks since the library was loaded. Threads do not survive a fork, so waiting for them would never
/// end.
std::atomic<uint32_t> forks{0};

void count_forks() {
#if !defined(_WIN32)
  static const bool is_counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  (void)is_counted;
#endif
}

/// The pool of get_threadpool(); null before its first call.
ThreadPool* pool_of_process = nullptr;

#if defined(__ELF__)
bool is_exiting = false;

/// The system calls this function before it unloads the shared library that contains this code. The threads run this
/// code, so they end first. At the exit of the process it is called too, but after the handlers of std::atexit(); then
/// the threads keep running, because kernels may still use them.
__attribute__((destructor)) void end_threads_before_unloading() {
  if (pool_of_process != nullptr && !is_exiting) {
    pool_of_process->_unsafe_destroy_threadpool();
  }
}
#endif

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
  count_forks();
  const auto destroy = [made = forks.load()](struct pthreadpool* pool) {
    if (made == forks.load()) {
      pthreadpool_destroy(pool);
    }
  };
  std::shared_ptr<struct pthreadpool> replacement(pthreadpool_create(count), destroy);
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
  static ThreadPool* const pool = [] {
    // Never destroyed, because kernels may still run while static objects are destroyed. Static memory, because a
    // library that is unloaded leaves nothing on the heap.
    alignas(ThreadPool) static unsigned char memory[sizeof(ThreadPool)];
    pool_of_process = new (memory) ThreadPool(cpuinfo::get_num_performant_cores());
#if defined(__ELF__)
    (void)std::atexit([] { is_exiting = true; });
#endif
#if !defined(_WIN32)
    // No other thread of the parent may hold the mutex that the child inherits. The child has only this thread. It
    // cannot create threads yet, but finds that it was forked off when it next needs the pool.
    (void)pthread_atfork([] { pool_of_process->mutex_.lock(); }, [] { pool_of_process->mutex_.unlock(); },
                         [] { pool_of_process->mutex_.unlock(); });
#endif
    return pool_of_process;
  }();
  static std::atomic<uint32_t> forks_seen{forks.load()};
  const uint32_t forks_now = forks.load();
  if (forks_seen.exchange(forks_now) != forks_now) {
    (void)pool->replace_threads(pool->get_thread_count());
    pool->is_busy_.store(false);
  }
  return pool;
}

pthreadpool_t get_pthreadpool() {
  if (NoThreadPoolGuard::is_enabled()) {
    return nullptr;
  }
  return get_threadpool()->threads().get();
}

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
