# SPDX-License-Identifier: BSD-3-Clause
# Raspberry Pi 4: four Cortex-A72 cores.
set(RASPBERRY_PI_CPU cortex-a72)
include("${CMAKE_CURRENT_LIST_DIR}/arm-toolchain.cmake")
