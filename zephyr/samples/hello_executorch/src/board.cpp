// SPDX-License-Identifier: BSD-3-Clause
// What examples/cortex_m asks of a board, from Zephyr: text goes to its console, and an exit stops the system.
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <cstddef>

#include "semihosting.h"

void semihosting_write(const char* text) {
  printk("%s", text);
}

/// There is no debugger to take a file.
bool semihosting_write_file(const char*, const void*, size_t) {
  return false;
}

void semihosting_exit(int) {
  k_panic();
  for (;;) {
  }
}
