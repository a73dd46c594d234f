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

void ThreadPool::Destroy::operator()(pthreadpool_t pool) const {
  pthreadpool_destroy(pool);
}

ThreadPool::ThreadPool(size_t thread_count) : threadpool_(pthreadpool_create(thread_count)) {}

size_t ThreadPool::get_thread_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return threadpool_ == nullptr ? 1 : pthreadpool_get_threads_count(threadpool_.get());
}

bool ThreadPool::_unsafe_reset_threadpool(uint32_t num_threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (num_threads != 0 && threadpool_ != nullptr && pthreadpool_get_threads_count(threadpool_.get()) == num_threads) {
    return true;
  }
  pthreadpool_t replacement = pthreadpool_create(num_threads);
  ET_CHECK_OR_RETURN_FALSE(replacement != nullptr, "a pool of %u threads could not be made", num_threads);
  threadpool_.reset(replacement);
  return true;
}

void ThreadPool::_unsafe_destroy_threadpool() {
  const std::lock_guard<std::mutex> lock(mutex_);
  threadpool_.reset();
}

void ThreadPool::run(runtime::FunctionRef<void(size_t)> fn, size_t range) {
  if (!NoThreadPoolGuard::is_enabled()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (threadpool_ != nullptr) {
      pthreadpool_parallelize_1d(
          threadpool_.get(),
          [](void* context, size_t i) {
            // A task that came here again would wait for itself.
            const NoThreadPoolGuard guard;
            (*static_cast<runtime::FunctionRef<void(size_t)>*>(context))(i);
          },
          &fn, range, /*flags=*/0);
      return;
    }
  }
  for (size_t i = 0; i < range; ++i) {
    fn(i);
  }
}

ThreadPool* get_threadpool() {
  static ThreadPool* const pool = [] {
#if !defined(_WIN32)
    // The child has this thread only: it can look at the flag when it next needs the pool, but not make threads yet.
    (void)pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
#endif
    // Never destroyed: kernels may still run while static objects are.
    return new (std::nothrow) ThreadPool(cpuinfo::get_num_performant_cores());
  }();
  if (pool != nullptr && forked.exchange(false)) {
    const size_t threads = pthreadpool_get_threads_count(pool->threadpool_.get());
    // The old one is lost: destroying it would wait for threads that are not there.
    (void)pool->threadpool_.release();
    pool->threadpool_.reset(pthreadpool_create(threads));
  }
  return pool;
}

pthreadpool_t get_pthreadpool() {
  if (NoThreadPoolGuard::is_enabled()) {
    return nullptr;
  }
  ThreadPool* pool = get_threadpool();
  if (pool == nullptr) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(pool->mutex_);
  return pool->threadpool_.get();
}

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
