// SPDX-License-Identifier: BSD-3-Clause
// From reset to main(): the vector table, the floating-point unit, initialised memory, static initialisers.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "semihosting.h"

extern unsigned char data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[], stack_top[];
typedef void (*function)(void);
extern const function __init_array_start[], __init_array_end[];

int main(void);
#ifdef DEVICE_INTERRUPTS
// An application with interrupts of devices sets DEVICE_INTERRUPTS to their number and defines this function.
void interrupt_handler(uint32_t number);
#endif

// System Control Block (Armv7-M and Armv8-M Architecture Reference Manuals, B3.2).
#define SCB_VTOR (*(volatile uint32_t*)0xE000ED08u)
#define SCB_CCR (*(volatile uint32_t*)0xE000ED14u)
#define SCB_CPACR (*(volatile uint32_t*)0xE000ED88u)

extern const void* const vectors[];

__attribute__((noreturn)) static void start(void) {
  SCB_VTOR = (uint32_t)(uintptr_t)vectors;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  SCB_CPACR |= 0xFu << 20;  // full access to coprocessors 10 and 11: floating point and vectors
  __asm volatile("dsb\n\tisb" ::: "memory");
#endif
#if defined(__ARM_FEATURE_MVE)
  SCB_CCR |= 1u << 19;  // low-overhead loops without the penalty of a cold branch cache
  __asm volatile("dsb\n\tisb" ::: "memory");
#endif
  memcpy(data_begin, data_in_flash, (size_t)(data_end - data_begin));
  memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
  for (const function* initialise = __init_array_start; initialise < __init_array_end; ++initialise) {
    (*initialise)();
  }
  semihosting_exit(main());
}

__attribute__((noreturn)) void reset_handler(void) {
  start();
}

__attribute__((noreturn)) static void fault_handler(void) {
  semihosting_write("the processor faulted\n");
  semihosting_exit(1);
}

#ifdef DEVICE_INTERRUPTS
static void device_interrupt(void) {
  uint32_t exception;
  __asm volatile("mrs %0, ipsr" : "=r"(exception));
  interrupt_handler(exception - 16);
}
#endif

__attribute__((used, section(".vectors"))) const void* const vectors[] = {
    stack_top,
    reset_handler,
    [2 ... 15] = fault_handler,
#ifdef DEVICE_INTERRUPTS
    [16 ... 15 + DEVICE_INTERRUPTS] = device_interrupt,
#endif
};
