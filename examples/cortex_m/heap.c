// SPDX-License-Identifier: BSD-3-Clause
// Memory for malloc() and what abort() asks of a system, for firmware with a library that needs a heap.
#include <stddef.h>

#include "semihosting.h"

void* _sbrk(ptrdiff_t more);
void _exit(int code);
int _kill(int process, int number);
int _getpid(void);

static unsigned char heap[HEAP_BYTES] __attribute__((aligned(16)));
static size_t used;

void* _sbrk(ptrdiff_t more) {
  if (more > 0 && (size_t)more > sizeof(heap) - used) {
    return (void*)-1;
  }
  void* const start = heap + used;
  used = (size_t)((ptrdiff_t)used + more);
  return start;
}

void _exit(int code) {
  semihosting_exit(code);
}

int _kill(int process, int number) {
  (void)process;
  semihosting_exit(128 + number);
}

int _getpid(void) {
  return 1;
}
