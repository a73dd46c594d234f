// SPDX-License-Identifier: BSD-3-Clause
// The Pico's services for the runtime: messages over the serial port, a clock, and a way to stop.
#include <cstdio>

#include <executorch/runtime/platform/platform.h>
#include <pico/stdlib.h>

extern "C" {

ET_NORETURN void et_pal_abort(void) {
  panic("the runtime stopped");
}

et_timestamp_t et_pal_current_ticks(void) {
  return time_us_64();
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) {
  return {1000, 1};
}

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
                             const char* message, size_t) {
  printf("%c %s:%u] %s\n", static_cast<char>(level), filename, static_cast<unsigned>(line), message);
}

}  // extern "C"
