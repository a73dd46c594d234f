# SPDX-License-Identifier: BSD-3-Clause
# Arm Cortex-M without an operating system, with GCC and newlib.
#   TARGET_CPU  the core, as GCC's -mcpu spells it (default cortex-m4): cortex-m7, cortex-m33, cortex-m55, cortex-m0plus+nofp ...
#   ARM_NONE_EABI_PREFIX  what the tools' names begin with (default arm-none-eabi-), with a path where they are not on PATH
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(TARGET_CPU "cortex-m4" CACHE STRING "The core: GCC's -mcpu")
set(ARM_NONE_EABI_PREFIX "arm-none-eabi-" CACHE STRING "What the names of the cross tools begin with")
# CMake's projects that test the compiler need them, too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARGET_CPU ARM_NONE_EABI_PREFIX)

set(CMAKE_C_COMPILER "${ARM_NONE_EABI_PREFIX}gcc")
set(CMAKE_CXX_COMPILER "${ARM_NONE_EABI_PREFIX}g++")
set(CMAKE_ASM_COMPILER "${ARM_NONE_EABI_PREFIX}gcc")
# No program can be linked before an application provides its linker script.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

if(TARGET_CPU MATCHES "\\+nofp|cortex-m(0|0plus|1|3|23)$")
  set(float_abi soft)
else()
  set(float_abi hard)
endif()
set(CMAKE_C_FLAGS_INIT "-mcpu=${TARGET_CPU} -mthumb -mfloat-abi=${float_abi}")
# Firmware that uses the runtime in more than one task must guard the first use itself, because static variables have no
# locks. Debian's compiler has its own <stdint.h>, which lacks the macro by which newlib's <inttypes.h> detects 64-bit
# integers; with other compilers newlib's own <stdint.h> defines the same macro.
set(CMAKE_C_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -D__int64_t_defined=1")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -fno-threadsafe-statics -fno-exceptions -fno-rtti -fno-use-cxa-atexit -Wno-psabi")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--specs=nano.specs -Wl,--gc-sections")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
