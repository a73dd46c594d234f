// SPDX-License-Identifier: BSD-3-Clause
// Shared by the stand-ins of vendors' libraries in tests: calls that fail on request, and counts of living objects.
// STAND_IN_FAILS_AT=N in the environment, or stand_in_fail_at(N), lets the N-th call fail. Include it in one source of
// the library.
#pragma once

#include <cstdlib>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace stand_in {

/// A code that no vendor has.
constexpr int kFailure = 77;

struct Counters {
  std::mutex mutex;
  int calls = 0;
  int fails_at = 0;
  int living = 0;
};

inline Counters& counters() {
  static Counters* const found = [] {
    auto* const made = new Counters;
    const char* const variable = std::getenv("STAND_IN_FAILS_AT");
    made->fails_at = variable == nullptr ? 0 : std::atoi(variable);
    return made;
  }();
  return *found;
}

/// Counts a call. Returns true if it must fail.
inline bool fails() {
  Counters& all = counters();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return ++all.calls == all.fails_at;
}

/// Counts the objects that exist.
struct Living {
  Living() { add(1); }
  ~Living() { add(-1); }
  Living(const Living&) = delete;
  Living& operator=(const Living&) = delete;

 private:
  static void add(int by) {
    const std::lock_guard<std::mutex> lock(counters().mutex);
    counters().living += by;
  }
};

}  // namespace stand_in

EXPORT void stand_in_fail_at(int call) {
  const std::lock_guard<std::mutex> lock(stand_in::counters().mutex);
  stand_in::counters().calls = 0;
  stand_in::counters().fails_at = call;
}
EXPORT int stand_in_calls() {
  const std::lock_guard<std::mutex> lock(stand_in::counters().mutex);
  return stand_in::counters().calls;
}
EXPORT int stand_in_living() {
  const std::lock_guard<std::mutex> lock(stand_in::counters().mutex);
  return stand_in::counters().living;
}
