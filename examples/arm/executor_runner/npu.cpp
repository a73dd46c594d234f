// SPDX-License-Identifier: BSD-3-Clause
// The NPU of a Corstone SSE-300: its fast scratch memory, and with ETHOS_U_CORE_DRIVER the initialisation of Arm's
// driver. Addresses and the interrupt are those of the application note AN547 for the secure state.
#include <cstddef>
#include <cstdint>

#ifdef ETHOS_U_CORE_DRIVER
extern "C" {
#include <ethosu_driver.h>
}
#include "semihosting.h"
#endif

#ifdef FAST_SCRATCH_BYTES
namespace {
alignas(16) __attribute__((section(".fast_scratch"))) unsigned char fast_scratch[FAST_SCRATCH_BYTES];
}
extern "C" {
extern unsigned char* ethosu_fast_scratch;
extern size_t ethosu_fast_scratch_size;
unsigned char* ethosu_fast_scratch = fast_scratch;
size_t ethosu_fast_scratch_size = sizeof(fast_scratch);
}
#endif

#ifdef ETHOS_U_CORE_DRIVER
namespace {

constexpr uintptr_t kNpu = 0x58102000;
constexpr uint32_t kInterrupt = 56;
// Nested Vectored Interrupt Controller, Interrupt Set-Enable Registers (Armv8-M Architecture Reference Manual, D1.2).
constexpr uintptr_t kSetEnable = 0xE000E100;

ethosu_driver npu;

/// Registers the NPU before main().
struct Initialise {
  Initialise() {
#ifdef FAST_SCRATCH_BYTES
    const void* const fast = fast_scratch;
    constexpr size_t kFastSize = FAST_SCRATCH_BYTES;
#else
    const void* const fast = nullptr;
    constexpr size_t kFastSize = 0;
#endif
    if (ethosu_init(&npu, reinterpret_cast<void*>(kNpu), fast, kFastSize, /*secure_enable=*/1,
                    /*privilege_enable=*/1) != 0) {
      semihosting_write("FAILED: the driver did not find the NPU\n");
      semihosting_exit(1);
    }
    reinterpret_cast<volatile uint32_t*>(kSetEnable)[kInterrupt / 32] = uint32_t{1} << kInterrupt % 32;
  }
};
const Initialise initialise;

}  // namespace

/// startup.c calls it for each interrupt of a device, with DEVICE_INTERRUPTS.
extern "C" void interrupt_handler(uint32_t number) {
  if (number == kInterrupt) {
    ethosu_irq_handler(&npu);
  }
}
#endif
