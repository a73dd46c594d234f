// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

/// Runs `work` in a forked process, which has no thread of the pool. @return true if `work` returned true there within
/// `seconds`; a process that takes longer is killed.
inline bool holds_in_child(const std::function<bool()>& work, unsigned seconds = 20) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
