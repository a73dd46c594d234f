# SPDX-License-Identifier: BSD-3-Clause
# Macs.
include("${CMAKE_CURRENT_LIST_DIR}/linux.cmake")
executorch_preset(EXECUTORCH_BUILD_COREML ON IN backends/apple/coreml)
executorch_preset(EXECUTORCH_BUILD_MPS ON IN backends/apple/mps)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_APPLE ON IN sdk/ios)
