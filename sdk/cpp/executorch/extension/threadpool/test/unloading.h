// SPDX-License-Identifier: BSD-3-Clause
// Tests of shared libraries with a thread pool: they can be unloaded while their threads wait for work.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include <executorch/extension/threadpool/test/child_process.h>

/// Starts the threads of the library that was opened; returns whether that went well.
using UseLibrary = std::function<bool(void* library)>;

/// Returns `holds`; prints `what` if it is false.
inline bool says(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "expected: %s\n", what);
  }
  return holds;
}

inline size_t count_threads() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    count += entry.is_directory() ? 1 : 0;
  }
  return count;
}

inline void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
  }
  return library;
}

/// Closes the library. Returns whether it is unloaded, its threads have ended, and nothing happens afterwards.
inline bool closes(void* library, const char* path, size_t other_threads) {
  return says(dlclose(library) == 0, "the library is closed") &&
         says(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr, "the library is unloaded") &&
         says(usleep(50 * 1000) == 0, "a thread without code would have crashed") &&
         says(count_threads() == other_threads, "its threads have ended");
}

/// Loads, uses and unloads the library three times.
inline bool unloads(const char* path, const UseLibrary& use) {
  const size_t others = count_threads();
  for (int round = 0; round < 3; ++round) {
    void* library = open_library(path);
    if (library == nullptr || !says(use(library), "it runs") || !says(count_threads() > others, "it has threads") ||
        !closes(library, path, others)) {
      return false;
    }
  }
  return true;
}

/// A child process of one that used the library unloads it, after using it again if `is_used_in_child`. Then the parent
/// unloads it, and forks without it.
inline bool unloads_after_fork(const char* path, const UseLibrary& use, bool is_used_in_child) {
  const size_t others = count_threads();
  void* library = open_library(path);
  return library != nullptr && says(use(library), "it runs") &&
         says(holds_in_child([&] {
                const size_t others_in_child = count_threads();
                return (!is_used_in_child || (says(use(library), "it runs in the child") &&
                                              says(count_threads() > others_in_child, "the child has threads"))) &&
                       closes(library, path, others_in_child);
              }),
              "the child unloads it") &&
         says(use(library), "it runs after the fork") && closes(library, path, others) &&
         says(holds_in_child([] { return true; }), "a fork calls nothing in the library");
}
