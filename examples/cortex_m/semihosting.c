// SPDX-License-Identifier: BSD-3-Clause
#include "semihosting.h"

#include <stdint.h>
#include <string.h>

enum { kOpen = 0x01, kClose = 0x02, kWriteText = 0x04, kWrite = 0x05, kExitWithCode = 0x20 };
// The mode of fopen() "wb".
enum { kCreateBinary = 5 };
// The reason of an exit that an application requests.
static const uint32_t kApplicationExit = 0x20026;

static uint32_t call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void semihosting_write(const char* text) {
  call(kWriteText, text);
}

bool semihosting_write_file(const char* path, const void* data, size_t size) {
  const uint32_t open[3] = {(uint32_t)path, kCreateBinary, (uint32_t)strlen(path)};
  const uint32_t file = call(kOpen, open);
  if (file == UINT32_MAX) {
    return false;
  }
  const uint32_t write[3] = {file, (uint32_t)data, (uint32_t)size};
  const uint32_t left = call(kWrite, write);
  return call(kClose, &file) == 0 && left == 0;
}

void semihosting_exit(int code) {
  const uint32_t block[2] = {kApplicationExit, (uint32_t)code};
  call(kExitWithCode, block);
  for (;;) {
  }
}
