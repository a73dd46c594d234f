# SPDX-License-Identifier: BSD-3-Clause
# Macs.
executorch_preset(EXECUTORCH_BUILD_BACKENDS macos)
include("${CMAKE_CURRENT_LIST_DIR}/linux.cmake")
