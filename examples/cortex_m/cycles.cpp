// SPDX-License-Identifier: BSD-3-Clause
// The time in cycles, and stubs for the heap that the writer of ETDumps links. The firmware has a heap only if
// HEAP_BYTES is defined, see heap.c.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/platform/platform.h>

namespace {

/// SysTick, a counter of 24 bits that every Cortex-M has, counts down (Armv7-M Architecture Reference Manual, B3.3).
struct SysTick {
  volatile uint32_t control, reload, current;
};
constexpr uint32_t kEnable = 1, kProcessorClock = 1 << 2, kLast = 0xFFFFFF;

SysTick& sys_tick() {
  return *reinterpret_cast<SysTick*>(0xE000E010);
}

}  // namespace

extern "C" {

void et_pal_init(void) {
  sys_tick().reload = kLast;
  sys_tick().current = 0;
  sys_tick().control = kEnable | kProcessorClock;
}

/// Right as long as it is called at least once each 2^24 cycles: 0.67 s at 25 MHz.
et_timestamp_t et_pal_current_ticks(void) {
  static et_timestamp_t cycles = 0;
  static uint32_t last = kLast;
  const uint32_t now = sys_tick().current;
  cycles += (last - now) & kLast;
  last = now;
  return cycles;
}

}  // extern "C"

#ifndef HEAP_BYTES
extern "C" void* _sbrk(ptrdiff_t) {
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}

// Nothing calls these: the writer of ETDumps has its memory from the tracer.
void* operator new(size_t) {
  et_pal_abort();
}
void* operator new[](size_t) {
  et_pal_abort();
}
void operator delete[](void*) noexcept {
  et_pal_abort();
}
void operator delete[](void*, size_t) noexcept {
  et_pal_abort();
}
#endif
