# SPDX-License-Identifier: BSD-3-Clause
# 64-bit Raspberry Pi OS, cross-compiled with GCC: that of Arm's toolchain in TOOLCHAIN_PATH, a variable of the
# environment, or that of the system (Debian: g++-aarch64-linux-gnu).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

if(DEFINED ENV{TOOLCHAIN_PATH})
  set(TOOLCHAIN_PATH "$ENV{TOOLCHAIN_PATH}")
  set(CMAKE_C_COMPILER "${TOOLCHAIN_PATH}/bin/aarch64-none-linux-gnu-gcc")
  set(CMAKE_CXX_COMPILER "${TOOLCHAIN_PATH}/bin/aarch64-none-linux-gnu-g++")
  set(CMAKE_SYSROOT "${TOOLCHAIN_PATH}/aarch64-none-linux-gnu/libc")
else()
  set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()
# The C library of a program must not be newer than that of the Pi. With a copy of the Pi's file system:
# set(CMAKE_SYSROOT "/home/yourusername/rpi5-sysroot")

set(CMAKE_C_FLAGS_INIT "-mcpu=${RASPBERRY_PI_CPU}")
set(CMAKE_CXX_FLAGS_INIT "-mcpu=${RASPBERRY_PI_CPU}")
set(CMAKE_FIND_ROOT_PATH "${CMAKE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
