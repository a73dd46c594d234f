// SPDX-License-Identifier: BSD-3-Clause
// The platform layer over Zephyr's kernel: printk() for messages, the kernel's uptime in ns for time, no heap.
#include <executorch/runtime/platform/platform.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

extern "C" {

ET_NORETURN void et_pal_abort(void) {
  k_panic();
  for (;;) {
  }
}

et_timestamp_t et_pal_current_ticks(void) {
  return k_ticks_to_ns_floor64(k_uptime_ticks());
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) {
  return {1, 1};
}

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
                             const char* message, size_t) {
  printk("%c %s:%u] %s\n", static_cast<char>(level), filename, static_cast<unsigned>(line), message);
}

}  // extern "C"
