# SPDX-License-Identifier: BSD-3-Clause
# The module of the npm package in sdk/web.
include("${CMAKE_CURRENT_LIST_DIR}/extensions.cmake")
executorch_preset(EXECUTORCH_BUILD_WEB ON)
executorch_preset(EXECUTORCH_BUILD_BACKENDS web)
executorch_preset(EXECUTORCH_OPTIMIZE_SIZE ON)  # except for kernels in which models spend their time: sdk/web/native
executorch_preset(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_OPTIMIZED ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_LLM ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER ON)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
# Module.etdump().
executorch_preset(EXECUTORCH_BUILD_DEVTOOLS ON)
executorch_preset(EXECUTORCH_ENABLE_EVENT_TRACER ON)
