// SPDX-License-Identifier: BSD-3-Clause
// Text and exit codes to a debugger or emulator ("Semihosting for AArch32 and AArch64", Arm IHI 0110). Firmware for a
// physical board prints through a serial port instead, and does not exit.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void semihosting_write(const char* text);

/// Writes a file on the machine of the debugger. Whether all of it was written.
bool semihosting_write_file(const char* path, const void* data, size_t size);

/// Ends the emulator with this exit code.
__attribute__((noreturn)) void semihosting_exit(int code);

#ifdef __cplusplus
}
#endif
