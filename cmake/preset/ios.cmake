# SPDX-License-Identifier: BSD-3-Clause
# iPhones, iPads and their simulators. No executables, because they would have to be signed.
executorch_preset(EXECUTORCH_BUILD_BACKENDS ios)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
include("${CMAKE_CURRENT_LIST_DIR}/macos.cmake")
