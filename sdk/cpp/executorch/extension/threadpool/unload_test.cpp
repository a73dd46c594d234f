// SPDX-License-Identifier: BSD-3-Clause
// A shared library that contains the thread pool is unloaded, or the process ends, while there are threads.
#include <cstdlib>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <executorch/extension/threadpool/test/unloading.h>

#include "paths.h"

using executorch::tests::kLibrary;

namespace {

bool use(void* library) {
  auto* const run_items = reinterpret_cast<int (*)()>(dlsym(library, "run_items"));
  return run_items != nullptr && run_items() == 1000;
}

// Each runs in a separate process, whose crash fails the test.
TEST(ThreadPoolUnloadTest, ThreadsEndWithTheirLibrary) {
  EXPECT_TRUE(holds_in_child([] { return unloads(kLibrary, use); }));
}

TEST(ThreadPoolUnloadTest, ThreadsEndWithTheirLibraryAfterAFork) {
  EXPECT_TRUE(holds_in_child([] { return unloads_after_fork(kLibrary, use, /*is_used_in_child=*/true); }));
  EXPECT_TRUE(holds_in_child([] { return unloads_after_fork(kLibrary, use, /*is_used_in_child=*/false); }));
}

// As with -Wl,-z,nodelete: closing does not unload the library.
TEST(ThreadPoolUnloadTest, ALibraryThatStaysIsUsedAgain) {
  EXPECT_TRUE(holds_in_child([] {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return says(library != nullptr && use(library), "it runs") &&
           says(dlclose(library) == 0, "the library is closed") &&
           says((library = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD)) != nullptr, "the library stays") &&
           says(use(library), "it runs again") &&
           says(holds_in_child([&] { return use(library) && dlclose(library) == 0; }), "it runs in a child") &&
           says(use(library), "it runs after the fork");
  }));
}

TEST(ThreadPoolUnloadTest, ALibraryThatWasNotUsedIsUnloaded) {
  EXPECT_TRUE(holds_in_child([] {
    void* library = open_library(kLibrary);
    return library != nullptr && closes(library, kLibrary, count_threads());
  }));
}

TEST(ThreadPoolUnloadTest, ALibraryExportsNoFunctionOfPthreadpool) {
  void* library = open_library(kLibrary);
  ASSERT_NE(library, nullptr);
  for (const char* name : {"pthreadpool_create", "pthreadpool_destroy", "pthreadpool_parallelize_1d"}) {
    EXPECT_EQ(dlsym(library, name), nullptr) << name;
  }
  dlclose(library);
}

// At exit, one sanitizer waits for the threads, and the other one looks for leaks in them while they run.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(ThreadPoolUnloadTest, TheProcessExitsWhileATaskRuns) {
  EXPECT_TRUE(holds_in_child([]() -> bool {
    void* library = open_library(kLibrary);
    auto* const run_endlessly = reinterpret_cast<void (*)(std::atomic<int>*)>(dlsym(library, "run_endlessly"));
    static std::atomic<int> begun{0};
    std::thread(run_endlessly, &begun).detach();
    while (begun < 2) {
      std::this_thread::yield();
    }
    std::exit(0);
  }));
}
#endif

}  // namespace
