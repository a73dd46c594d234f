// SPDX-License-Identifier: BSD-3-Clause
#include "semihosting.h"

#include <stdint.h>

enum { kWriteText = 0x04, kExitWithCode = 0x20 };
// The reason for an exit that an application asked for.
static const uint32_t kApplicationExit = 0x20026;

static void call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void semihosting_write(const char* text) {
  call(kWriteText, text);
}

void semihosting_exit(int code) {
  const uint32_t block[2] = {kApplicationExit, (uint32_t)code};
  call(kExitWithCode, block);
  for (;;) {
  }
}
