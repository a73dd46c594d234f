# SPDX-License-Identifier: BSD-3-Clause
# Language models.
include("${CMAKE_CURRENT_LIST_DIR}/linux.cmake")
executorch_preset(EXECUTORCH_BUILD_EXTENSION_LLM ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_LLM ON)
