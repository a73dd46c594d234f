# SPDX-License-Identifier: BSD-3-Clause
# The toolchain of cmake/toolchains/arm-none-eabi.cmake, for the Cortex-M55 of a Corstone SSE-300 unless TARGET_CPU says otherwise.
set(TARGET_CPU "cortex-m55" CACHE STRING "The core: GCC's -mcpu")
include("${CMAKE_CURRENT_LIST_DIR}/../../../cmake/toolchains/arm-none-eabi.cmake")
