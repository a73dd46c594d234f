# SPDX-License-Identifier: BSD-3-Clause
# Android, for every processor.
executorch_preset(EXECUTORCH_BUILD_BACKENDS android)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
executorch_preset(EXECUTORCH_BUILD_ANDROID_JNI ON)
include("${CMAKE_CURRENT_LIST_DIR}/linux.cmake")
