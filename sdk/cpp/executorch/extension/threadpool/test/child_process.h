// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

/// The state of the other threads of the process: for a sleeping thread, how often it was descheduled; "" for a running
/// one.
inline std::map<std::string, std::string> look_at_other_threads() {
  std::map<std::string, std::string> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = entry.path().filename();
    if (id == std::to_string(getpid())) {
      continue;
    }
    std::ifstream status(entry.path() / "status");
    std::string& switches = threads[id];
    bool sleeps = false;
    for (std::string line; std::getline(status, line);) {
      sleeps = sleeps || line.rfind("State:\tS", 0) == 0;
      if (line.find("ctxt_switches:") != std::string::npos) {
        switches += line;
      }
    }
    if (!sleeps) {
      switches.clear();
    }
  }
  return threads;
}

/// Returns after a while in which no other thread ran, or after ten seconds. Threads allocate memory when they start,
/// and the lock of GCC 12's AddressSanitizer would stay locked in a child that is forked meanwhile.
inline void wait_until_threads_sleep() {
  auto before = look_at_other_threads();
  for (int i = 0; i < 10 * 1000; ++i) {
    auto now = look_at_other_threads();
    bool all_sleep = now == before;
    for (const auto& [id, switches] : now) {
      all_sleep = all_sleep && !switches.empty();
    }
    if (all_sleep) {
      return;
    }
    before = std::move(now);
    usleep(1000);
  }
}

/// Runs `work` in a forked process, which has no thread of the pool. Call it in the first thread of a process.
/// @return true if `work` returned true there within `seconds`; a process that takes longer is killed.
inline bool holds_in_child(const std::function<bool()>& work, unsigned seconds = 20) {
  wait_until_threads_sleep();
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
