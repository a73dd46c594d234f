// SPDX-License-Identifier: BSD-3-Clause
// The board's functions for examples/cortex_m, over Zephyr: text goes to its console, and an exit stops the system.
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <cstddef>

#include "semihosting.h"

void semihosting_write(const char* text) {
  printk("%s", text);
}

/// Files cannot be written, because there is no debugger.
bool semihosting_write_file(const char*, const void*, size_t) {
  return false;
}

void semihosting_exit(int) {
  k_panic();
  for (;;) {
  }
}
