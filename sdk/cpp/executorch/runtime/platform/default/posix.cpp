// SPDX-License-Identifier: BSD-3-Clause
// Default platform layer of systems with a C++ standard library: steady_clock, stderr, the C heap. Every function is
// weak; an application replaces any of them by defining its own.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/platform.h>

#if defined(_WIN32)
// Windows has no weak definitions. There an application replaces all of these functions, or some with register_pal().
#undef ET_WEAK
#define ET_WEAK
#endif

namespace {

// Nanoseconds of steady_clock when the platform was initialised or the time was first read; 0 if it has not started.
std::atomic<int64_t> start_ns{0};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

extern "C" {

ET_WEAK void et_pal_init(void) {
  (void)et_pal_current_ticks();
}

ET_NORETURN ET_WEAK void et_pal_abort(void) {
  std::abort();
}

ET_WEAK et_timestamp_t et_pal_current_ticks(void) {
  const int64_t now = now_ns();
  int64_t start = start_ns.load(std::memory_order_relaxed);
  if (start == 0 && start_ns.compare_exchange_strong(start, now, std::memory_order_relaxed)) {
    start = now;
  }
  // Another thread may have set a start that is a little later than this thread's clock reading.
  return now > start ? static_cast<et_timestamp_t>(now - start) : 0;
}

ET_WEAK et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) {
  return {1, 1};
}

ET_WEAK void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                                     ET_UNUSED const char* function, size_t line, const char* message,
                                     ET_UNUSED size_t length) {
  const uint64_t microseconds = timestamp / 1000;
  const uint64_t seconds = microseconds / 1000000;
  // Write each line with one call, which locks stderr, so that lines of several threads do not mix.
  fprintf(stderr, "%c %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%06" PRIu64 " executorch:%s:%zu] %s\n",
          static_cast<int>(level), seconds / 3600, seconds / 60 % 60, seconds % 60, microseconds % 1000000, filename,
          line, message);
}

ET_WEAK void* et_pal_allocate(size_t size) {
  return std::malloc(size);
}

ET_WEAK void et_pal_free(void* ptr) {
  std::free(ptr);
}

}  // extern "C"
