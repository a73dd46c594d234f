// SPDX-License-Identifier: BSD-3-Clause
// The system calls of malloc() and abort(), for firmware with a library that needs a heap, and stubs of the file
// functions that the C library's printf links: there are no files.
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "semihosting.h"

void* _sbrk(ptrdiff_t more);
void _exit(int code);
int _kill(int process, int number);
int _getpid(void);
int _write(int file, const char* text, int count);
int _read(int file, char* text, int count);
int _close(int file);
int _fstat(int file, struct stat* status);
int _isatty(int file);
off_t _lseek(int file, off_t offset, int from);

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

int _write(int file, const char* text, int count) {
  (void)file;
  for (int i = 0; i < count; ++i) {
    const char one[] = {text[i], '\0'};
    semihosting_write(one);
  }
  return count;
}

int _read(int file, char* text, int count) {
  (void)file, (void)text, (void)count;
  return -1;
}

int _close(int file) {
  (void)file;
  return -1;
}

int _fstat(int file, struct stat* status) {
  (void)file, (void)status;
  return -1;
}

int _isatty(int file) {
  (void)file;
  return 0;
}

off_t _lseek(int file, off_t offset, int from) {
  (void)file, (void)offset, (void)from;
  return -1;
}
