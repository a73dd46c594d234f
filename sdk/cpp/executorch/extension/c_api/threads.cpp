// SPDX-License-Identifier: BSD-3-Clause
// The threads that all modules of the process share.
#include <executorch/extension/c_api/threads.h>

#include <shared_mutex>

#include <executorch/extension/c_api/call.h>
#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/extension/threadpool/threadpool.h>
#endif

using executorch::extension::c_api::call;
using executorch::runtime::Error;

namespace executorch {
namespace extension {
namespace c_api {

namespace {

// Far more than any machine has. Larger numbers are mistakes, such as -1.
constexpr size_t kMaxThreads = 1024;

std::shared_mutex pool_mutex;
// Nested uses are possible: a callback of a run may run another module.
thread_local size_t uses_in_this_thread = 0;

}  // namespace

ThreadsInUse::ThreadsInUse() {
  if (uses_in_this_thread++ == 0) {
    pool_mutex.lock_shared();
  }
}

ThreadsInUse::~ThreadsInUse() {
  if (--uses_in_this_thread == 0) {
    pool_mutex.unlock_shared();
  }
}

namespace {

Error set_thread_count(size_t count) {
  ET_CHECK_OR_RETURN_ERROR(count <= kMaxThreads, InvalidArgument, "expected a number of threads up to %zu, found %zu",
                           kMaxThreads, count);
  ET_CHECK_OR_RETURN_ERROR(uses_in_this_thread == 0, InvalidState,
                           "the number of threads cannot be changed from within a run");
#ifdef ET_USE_THREADPOOL
  const std::unique_lock<std::shared_mutex> lock(pool_mutex);
  threadpool::ThreadPool* pool = threadpool::get_threadpool();
  ET_CHECK_OR_RETURN_ERROR(pool != nullptr, MemoryAllocationFailed, "out of memory for the threads");
  if (count == 0) {
    count = cpuinfo::get_num_performant_cores();
  }
  ET_CHECK_OR_RETURN_ERROR(pool->_unsafe_reset_threadpool(static_cast<uint32_t>(count)), OutOfResources,
                           "%zu threads could not be started; there are %zu as before", count,
                           pool->get_thread_count());
  return Error::Ok;
#else
  ET_CHECK_OR_RETURN_ERROR(
      count <= 1, NotSupported,
      "this library was built without threads: configure it with -DEXECUTORCH_BUILD_PTHREADPOOL=ON");
  return Error::Ok;
#endif
}

}  // namespace
}  // namespace c_api
}  // namespace extension
}  // namespace executorch

et_status et_set_thread_count(size_t count, et_error** error) {
  return call(error, [count] { return executorch::extension::c_api::set_thread_count(count); });
}

size_t et_thread_count(void) {
#ifdef ET_USE_THREADPOOL
  using namespace executorch::extension;
  c_api::initialize();
  const c_api::ThreadsInUse use;
  const threadpool::ThreadPool* pool = threadpool::get_threadpool();
  return pool != nullptr ? pool->get_thread_count() : 1;
#else
  return 1;
#endif
}
