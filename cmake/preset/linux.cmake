# SPDX-License-Identifier: BSD-3-Clause
# Linux on a desktop or server: everything that runs there.
include("${CMAKE_CURRENT_LIST_DIR}/extensions.cmake")
executorch_preset(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_OPTIMIZED ON)
executorch_preset(EXECUTORCH_BUILD_BACKENDS linux)
executorch_preset(EXECUTORCH_BUILD_DEVTOOLS ON)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER ON)
