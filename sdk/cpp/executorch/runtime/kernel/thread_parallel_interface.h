// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * parallel_for of kernels. With ET_USE_THREADPOOL the threadpool extension runs it; otherwise it runs here, in order.
 */
#pragma once

#include <cinttypes>
#include <cstdint>
#include <initializer_list>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {
namespace internal {

/// Runs everything in one call; false (logged) for an invalid range.
template <typename Func>
bool parallel_for_no_threadpool(const int64_t begin, const int64_t end, const int64_t grain_size, const Func& func) {
  ET_CHECK_OR_RETURN_FALSE(begin >= 0 && end >= begin && grain_size > 0,
                           "expected 0 <= begin <= end and a grain size above 0, found begin = %" PRId64
                           ", end = %" PRId64 ", grain_size = %" PRId64,
                           begin, end, grain_size);
  if (begin < end) {
    func(begin, end);
  }
  return true;
}

/// Smallest amount of work (about 10^4 cheap operations) that is worth a thread.
constexpr int64_t GRAIN_SIZE = 32768;

/// The same for the multiply-adds of a vectorised GEMM or convolution.
constexpr int64_t GRAIN_PRODUCTS = 200000;

/**
 * The grain_size of a parallel_for: the number of indices that is worth a thread; at least 1. Nested loops are
 * consistent if they give their work in the same unit.
 *
 * @param work_of_thread GRAIN_SIZE or GRAIN_PRODUCTS, or as much in another unit; above 0.
 * @param work_of_index Factors of the work of one index, whose product may exceed 64 bits.
 */
inline int64_t grain_for(int64_t work_of_thread, std::initializer_list<int64_t> work_of_index) {
  int64_t grain = work_of_thread;
  for (const int64_t factor : work_of_index) {
    grain = factor > 1 ? grain / factor + (grain % factor != 0 ? 1 : 0) : grain;
  }
  return grain;
}

}  // namespace internal

#ifdef ET_USE_THREADPOOL
/// Implemented by extension/threadpool.
bool parallel_for(const int64_t begin, const int64_t end, const int64_t grain_size,
                  runtime::FunctionRef<void(int64_t, int64_t)> func);
int64_t get_thread_num();
void set_thread_num(int64_t thread_num);
#else
/**
 * Calls func(first, last) for disjoint ranges that together are [begin, end), possibly from several threads. Within
 * such a call, parallel_for runs on the current thread, which keeps its number.
 *
 * @param grain_size Indices of the smallest range that is worth a thread; above 0.
 * @return false (logged, func not called) unless 0 <= begin <= end and grain_size > 0.
 */
template <typename Func>
bool parallel_for(const int64_t begin, const int64_t end, const int64_t grain_size, const Func& func) {
  return internal::parallel_for_no_threadpool(begin, end, grain_size, func);
}
/// Index of the current thread of a parallel_for, from 0.
inline int64_t get_thread_num() {
  return 0;
}
inline void set_thread_num(int64_t thread_num) {
  ET_CHECK_OR_LOG_ERROR(thread_num == 0, "this build runs kernels on one thread; thread number %" PRId64 " was ignored",
                        thread_num);
}
#endif

}  // namespace extension
}  // namespace executorch
