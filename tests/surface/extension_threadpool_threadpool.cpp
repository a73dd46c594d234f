// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/threadpool.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<threadpool::ThreadPool, size_t>);
static_assert(std::is_constructible_v<threadpool::ThreadPool>);
static_assert(std::is_destructible_v<threadpool::ThreadPool>);
static_assert(is<size_t (threadpool::ThreadPool::*)() const>(&threadpool::ThreadPool::get_thread_count));
static_assert(is<bool (threadpool::ThreadPool::*)(uint32_t)>(&threadpool::ThreadPool::_unsafe_reset_threadpool));
static_assert(is<void (threadpool::ThreadPool::*)()>(&threadpool::ThreadPool::_unsafe_destroy_threadpool));
static_assert(
    is<void (threadpool::ThreadPool::*)(runtime::FunctionRef<void(size_t)>, size_t)>(&threadpool::ThreadPool::run));
static_assert(is<threadpool::ThreadPool* (*)()>(&threadpool::get_threadpool));
static_assert(is<pthreadpool_t (*)()>(&threadpool::get_pthreadpool));
namespace aliases {
using ::torch::executorch::threadpool::get_pthreadpool;
using ::torch::executorch::threadpool::get_threadpool;
using ::torch::executorch::threadpool::ThreadPool;
}  // namespace aliases

}  // namespace surface
