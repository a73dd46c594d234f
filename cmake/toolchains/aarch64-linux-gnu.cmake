# SPDX-License-Identifier: BSD-3-Clause
# 64-bit Arm Linux, cross-compiled with GCC. Tests run under QEMU if it is installed. Debian: apt install
# g++-aarch64-linux-gnu qemu-user
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

find_program(QEMU_AARCH64 qemu-aarch64)
mark_as_advanced(QEMU_AARCH64)
if(QEMU_AARCH64)
  # Every extension of the instruction set that the emulator has. The C library is that of the compiler.
  set(CMAKE_CROSSCOMPILING_EMULATOR "${QEMU_AARCH64};-cpu;max;-L;/usr/aarch64-linux-gnu")
endif()

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
