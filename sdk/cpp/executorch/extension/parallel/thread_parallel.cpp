// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>

namespace executorch {
namespace extension {

namespace {
thread_local int64_t thread_number = 0;
}  // namespace

int64_t get_thread_num() {
  return thread_number;
}

void set_thread_num(int64_t thread_num) {
  thread_number = thread_num;
}

bool parallel_for(const int64_t begin, const int64_t end, const int64_t grain_size,
                  runtime::FunctionRef<void(int64_t, int64_t)> func) {
  const bool valid = begin >= 0 && end >= begin && grain_size > 0;
  // Inside a task of the pool, the other threads work on parts of that task.
  const bool may_share = valid && end - begin > grain_size && !threadpool::NoThreadPoolGuard::is_enabled();
  threadpool::ThreadPool* pool = may_share ? threadpool::get_threadpool() : nullptr;
  if (pool == nullptr) {
    // Logs what is wrong with an invalid range.
    return internal::parallel_for_no_threadpool(begin, end, grain_size, func);
  }
  const int64_t count = end - begin;
  const auto threads = static_cast<int64_t>(pool->get_thread_count());
  // Not (count + threads - 1) / threads, because that sum can overflow.
  const int64_t chunk = std::max(grain_size, count / threads + (count % threads != 0));
  const int64_t num_chunks = count / chunk + (count % chunk != 0);
  pool->run(
      [&](size_t i) {
        const int64_t outer = thread_number;
        thread_number = static_cast<int64_t>(i);
        const int64_t first = begin + static_cast<int64_t>(i) * chunk;
        func(first, end - first > chunk ? first + chunk : end);
        thread_number = outer;
      },
      static_cast<size_t>(num_chunks));
  return true;
}

}  // namespace extension
}  // namespace executorch
