# SPDX-License-Identifier: BSD-3-Clause
# Raspberry Pi 5: four Cortex-A76 cores, with dot products.
set(RASPBERRY_PI_CPU cortex-a76)
include("${CMAKE_CURRENT_LIST_DIR}/arm-toolchain.cmake")
